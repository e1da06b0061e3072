package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// fault is what ends a goroutine of the soak, as FailNow ends a test: fail panics with
// it, and guard, at the goroutine's beginning, returns it.
type fault struct{ err error }

// fail ends the goroutine if there are errors.
func fail(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(fault{err})
	}
}

func failf(format string, args ...any) { fail(fmt.Errorf(format, args...)) }

// must returns what came without an error.
func must[T any](value T, err error) T {
	fail(err)
	return value
}

// guard returns the fault that f has met.
func guard(f func()) (err error) {
	defer func() {
		switch met := recover().(type) {
		case nil:
		case fault:
			err = met.err
		default:
			panic(met)
		}
	}()
	f()
	return nil
}

// errOver ends the sessions of a server that was left or killed under them.
var errOver = errors.New("the server has been ended")

// pause waits unless ctx ends.
func pause(ctx context.Context, long time.Duration) {
	select {
	case <-time.After(long):
	case <-ctx.Done():
		fail(errOver, context.Cause(ctx))
	}
}

// eventually asks until nothing is lacking any more, which it must be in time.
func eventually(ctx context.Context, long time.Duration, lacking func() error) {
	for deadline := time.Now().Add(long); ; pause(ctx, 5*time.Millisecond) {
		err := lacking()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			failf("after %s: %w", long, err)
		}
	}
}

// The comparisons of the answers return what differs.

func same[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s is %s, not %s", what, shorten(fmt.Sprintf("%#v", got)), shorten(fmt.Sprintf("%#v", want)))
}

func sameFlag(what string, got *bool, want bool) error {
	if got == nil {
		return fmt.Errorf("%s is absent, not %t", what, want)
	}
	return same(what, *got, want)
}

// contains looks for one of the parts.
func contains(what, got string, parts ...string) error {
	if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(got, part) }) {
		return nil
	}
	return fmt.Errorf("%s is %s, which has none of %q", what, shorten(got), parts)
}

// shorten keeps the ends of a long text for a message.
func shorten(text string) string {
	const most = 1500
	if len(text) <= most {
		return text
	}
	return text[:most/2] + " … " + text[len(text)-most/2:]
}
