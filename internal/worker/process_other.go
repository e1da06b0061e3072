//go:build !linux

package worker

import (
	"errors"

	"understudy/sessions"
)

// limitMemory does nothing: elsewhere one process can't set the limits of another.
func limitMemory(int, uint64) error { return errors.ErrUnsupported }

// awaitDeath reaps the process at once: elsewhere than on Linux there is no
// waiting without.
func (c *child) awaitDeath() { c.wait() }

func (c *child) reap() sessions.CrashError { return c.ended() }

// destroy is for copies that sleep, which only Linux has.
func (p *process) destroy() {}
