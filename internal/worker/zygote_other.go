//go:build !linux

package worker

import (
	"context"

	"understudy/sessions"
)

// Zygote stands for the starter that only Linux has; see zygote_linux.go. Here
// it spawns.
type Zygote struct{ *Spawner }

// NewZygote returns a Zygote that spawns.
func NewZygote(options Options) *Zygote { return &Zygote{NewSpawner(options)} }

// ForkObstacle says that workers can't be copied on this system.
func ForkObstacle(float64) string { return ObstacleSpawned }

// Fork says that a worker can't be copied on this system.
func (w *worker) Fork(context.Context, sessions.Purpose) (sessions.Understudy, error) {
	return nil, &sessions.ForkError{Reason: w.spawner.ForkObstacle()}
}

// forkers are for Linux.
type forkers struct{}

func newGuard(*Spawner) *forkers { return nil }

func (*forkers) begin() {}

func (*forkers) settle(context.Context) {}

func (*forkers) resume() {}

func (*forkers) close() {}
