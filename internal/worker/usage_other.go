//go:build !linux

package worker

import "understudy/sessions"

// Usage can't be told on this system.
func (w *worker) Usage() (sessions.Usage, error) { return sessions.Usage{}, nil }

// Resident can't be told either.
func (w *worker) Resident() uint64 { return 0 }
