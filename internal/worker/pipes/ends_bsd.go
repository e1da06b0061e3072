//go:build unix && !linux

package pipes

import (
	"os"
	"syscall"
)

func newPipe() (r, w *os.File, err error) { return os.Pipe() }

func enlargePipe(*os.File) {}

// pipeCapacity is the most that a pipe holds on macOS and the BSDs, in bytes.
func pipeCapacity(*os.File) int { return 64 << 10 }

func socketPair() ([2]int, error) {
	syscall.ForkLock.RLock() // there is no SOCK_CLOEXEC
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	return pair, err
}
