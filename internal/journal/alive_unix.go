//go:build unix

package journal

import (
	"errors"
	"syscall"
)

// processLives reports whether a process with this id is there.
func processLives(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
