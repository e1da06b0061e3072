//go:build unix && !linux

package worker

import (
	"log/slog"
	"syscall"
)

// kin is a worker's process group: all that can be found of its descendants
// without /proc.
type kin struct{ pid int }

func newKin(pid int, _ mark, _ *registry, _ *slog.Logger) *kin { return &kin{pid} }

// end kills the group. How many processes it had can't be told.
func (k *kin) end() int {
	_ = syscall.Kill(-k.pid, syscall.SIGKILL)
	return 0
}

func (k *kin) close() {}
