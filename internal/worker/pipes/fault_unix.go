//go:build unix

package pipes

import (
	"errors"
	"os"
	"syscall"
)

// faultLimit is how many bytes a fault pipe holds, so the most that is read.
const faultLimit = 64 << 10

// ReadFault returns what the fault pipe holds. It waits for nothing: a child of
// the worker may have the pipe open.
func ReadFault(file *os.File) string {
	raw, err := file.SyscallConn()
	if err != nil {
		return ""
	}
	var text []byte
	_ = raw.Control(func(fd uintptr) {
		var buffer [4096]byte
		for len(text) < faultLimit {
			n, _ := readDescriptor(fd, buffer[:])
			if n == 0 {
				return
			}
			text = append(text, buffer[:n]...)
		}
	})
	return string(text)
}

// readDescriptor reads without a retry but after a signal.
func readDescriptor(fd uintptr, buffer []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), buffer)
		if !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}
