//go:build unix

package worker

import (
	"os"

	"golang.org/x/sys/unix"
)

// pause stops the process until resume is called.
func (p *process) pause() (resume func(), err error) {
	pid := p.pid
	return func() { _ = unix.Kill(pid, unix.SIGCONT) }, unix.Kill(pid, unix.SIGSTOP)
}

// inheritable returns a file that children would get.
func inheritable() (*os.File, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
	return os.NewFile(uintptr(fd), os.DevNull), err
}
