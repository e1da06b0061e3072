package pipes

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeSize is what the output pipes should hold, in bytes. More would not be
// faster, and all pipes of an unprivileged user may together have 64 MiB.
const pipeSize = 256 << 10

// newPipe makes a pipe whose reading end does not block and is not in Go's
// poller, where it would cause wake-ups that nobody needs.
func newPipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// NewFile leaves descriptors that block out of the poller.
	r, w = os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1")
	_ = unix.SetNonblock(fds[0], true) // can't fail for an open descriptor
	return r, w, nil
}

func enlargePipe(file *os.File) {
	_, _ = unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, pipeSize)
}

func pipeCapacity(file *os.File) int {
	capacity, err := unix.FcntlInt(file.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return pipeSize
	}
	return capacity
}

func socketPair() ([2]int, error) {
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}
