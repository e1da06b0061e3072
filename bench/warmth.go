package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

const (
	// lookAgain is the pause between two questions whether something is done yet.
	lookAgain = 20 * time.Millisecond
	// longestWait is how long the server's own work beside the calls may take.
	longestWait = time.Minute
)

// canFork reports whether interpreters are forked and copied on this system.
func canFork() bool { return runtime.GOOS == "linux" }

// needsFork says that a section is left out where that can't be.
func needsFork(section string) bool {
	if !canFork() {
		progress("%s is measured on Linux only: elsewhere interpreters are neither forked nor copied", section)
	}
	return canFork()
}

// Settings of servers that are compared with the default.
var (
	spawning      = []string{"--start", "spawn"}
	withoutCopies = []string{"--checkpoint-memory", "0"}
)

// startWarmServer starts a server whose new sessions have the usual libraries
// imported already, where that can be.
func startWarmServer(ctx context.Context, b *bench, settings ...string) (*server, error) {
	s, err := startServer(ctx, b, settings...)
	if err != nil || !canFork() {
		return s, err
	}
	if err := eventually(ctx, s.isWarm); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the zygote: %w", err), s.close())
	}
	return s, nil
}

// isWarm reports whether a new session finds the last library of --preload.
func (s *server) isWarm() (bool, error) {
	id, err := s.create()
	if err != nil {
		return false, err
	}
	r, err := s.runIn(id, "print('matplotlib.pyplot' in __import__('sys').modules)")
	return r.Record.Stdout == "True\n", errors.Join(err, s.remove(id))
}

// awaitCopies waits until each session's present state has been copied, so that
// nothing is done beside the calls that come next.
func (s *server) awaitCopies(ctx context.Context) error {
	var missing listed
	err := eventually(ctx, func() (bool, error) {
		r, err := s.manage("list", "")
		for _, l := range r.Record.Interpreters {
			if !l.Recoverable {
				missing = l
				return false, err
			}
		}
		return true, err
	})
	if errors.Is(err, errNever) {
		return fmt.Errorf("interpreter %s was not copied: %s", missing.ID, missing.Obstacle)
	}
	return err
}

var errNever = fmt.Errorf("it did not come about within %s", longestWait)

// eventually asks again and again until something has come about.
func eventually(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestWait, errNever)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookAgain):
		}
	}
}
