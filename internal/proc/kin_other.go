//go:build unix && !linux

package proc

import (
	"log/slog"
	"syscall"
)

// Kin is a worker's process group: all that can be found of its descendants
// without /proc.
type Kin struct{ pid int }

// NewKin returns the kin of a worker that leads its group.
func NewKin(pid int, _ Mark, _ *Registry, _ *slog.Logger) *Kin { return &Kin{pid} }

// End kills the group. How many processes it had can't be told.
func (k *Kin) End() int {
	_ = syscall.Kill(-k.pid, syscall.SIGKILL)
	return 0
}

// Close does nothing.
func (k *Kin) Close() {}
