//go:build unix && !linux

package worker

import "syscall"

// processAttributes puts a worker into a session and a group of its own, so that it has
// no part in the terminal that the server was started from. It ends after the server
// does because its frames' socket is closed then.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}
