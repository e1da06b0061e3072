//go:build unix

package pythonenv

import (
	"os"
	"syscall"
)

// interrupt asks a tool to stop and clean up.
func interrupt(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
