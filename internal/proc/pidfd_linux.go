package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pidfd names one process for ever, and tells of its death without a thread
// that waits for it: Go's poller watches it.
type Pidfd struct {
	file *os.File
	raw  syscall.RawConn
}

// OpenPidfd opens that of a process that has not been reaped.
func OpenPidfd(pid int) (*Pidfd, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	// A non-blocking file goes to the poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &Pidfd{file: os.NewFile(uintptr(fd), "pidfd")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close()
		return nil, err
	}
	return p, nil
}

// AwaitDeath returns when the process is dead, or the descriptor is closed.
func (p *Pidfd) AwaitDeath() {
	_ = p.raw.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// Signal sends the process a signal, and nobody else: it fails when the descriptor has been
// closed, or the process is dead.
func (p *Pidfd) Signal(number syscall.Signal) {
	_ = p.raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), number, nil, 0) })
}

// Close may be called again.
func (p *Pidfd) Close() { _ = p.file.Close() }
