package worker

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"understudy/sessions"
)

func TestInterrupterAimsAtTheExecution(t *testing.T) {
	t.Parallel()
	signals := 0
	// On a machine that stops for a moment the execution is also nudged.
	i := &interrupter{signal: func() error { signals++; return nil }, nudge: func() {}}
	expect := func(when string, want int) {
		t.Helper()
		isIdle := i.phase == idle
		if err := i.interrupt(); errors.Is(err, sessions.ErrNothingRuns) != isIdle || signals != want {
			t.Errorf("%s: %d signals went out, want %d (%v)", when, signals, want, err)
		}
	}
	expect("idle", 0)
	i.begin()
	expect("while the request is being sent", 0)
	i.started()
	if signals != 1 {
		t.Errorf("the wish was forgotten: %d signals", signals)
	}
	expect("running", 2)
	i.end()
	expect("idle again", 2)
	if !i.takeUnsettled() || i.takeUnsettled() {
		t.Error("an execution was signalled: that is to be settled once")
	}
	i.begin()
	i.started()
	i.end()
	if signals != 2 || i.takeUnsettled() {
		t.Error("the next execution was signalled")
	}
}

func TestInterrupterNudgesUntilTheExecutionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nudges := 0
		i := &interrupter{signal: func() error { return nil }, nudge: func() { nudges++ }}
		expect := func(when string, want int) {
			t.Helper()
			time.Sleep(10 * firstNudge)
			synctest.Wait()
			if nudges != want {
				t.Errorf("%s: %d nudges, want %d", when, nudges, want)
			}
		}
		i.begin()
		i.started()
		expect("before an interrupt", 0)
		_ = i.interrupt()
		expect("after an interrupt", 3) // after 1, 3 and 7 times firstNudge
		i.end()
		i.begin()
		i.started()
		expect("in the next execution", 3)
		i.end()
		expect("at the end", 3)
	})
}
