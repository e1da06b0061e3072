package worker

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidfd names one process for ever, and tells of its death without a thread
// that waits for it: Go's poller watches it.
type pidfd struct {
	file *os.File
	raw  syscall.RawConn
}

func openPidfd(pid int) (*pidfd, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	// A non-blocking file goes to the poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &pidfd{file: os.NewFile(uintptr(fd), "pidfd")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close()
		return nil, err
	}
	return p, nil
}

// awaitDeath returns when the process is dead, or the descriptor is closed.
func (p *pidfd) awaitDeath() {
	_ = p.raw.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

func (p *pidfd) close() { _ = p.file.Close() }
