//go:build unix

package journal

import "syscall"

// openOnly follows no link, and waits for no pipe that has come in a file's place.
const openOnly = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
