//go:build !linux

package worker

import (
	"context"

	"understudy/sessions"
)

// Fork says that a worker can't be copied on this system.
func (w *worker) Fork(context.Context, sessions.Purpose) (sessions.Understudy, error) {
	return nil, &sessions.ForkError{Reason: w.spawner.ForkObstacle()}
}
