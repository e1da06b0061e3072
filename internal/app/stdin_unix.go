//go:build unix

package app

import (
	"os"
	"syscall"
)

// pollableStdin returns standard input as a file that Go's poller waits on,
// when it is a pipe or a socket, as from every MCP client. A read that blocks
// a thread instead costs each message two more switches between threads.
func pollableStdin() *os.File {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return os.Stdin
	}
	if err := syscall.SetNonblock(syscall.Stdin, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(uintptr(syscall.Stdin), "stdin")
}
