package worker

import "testing"

func TestInterrupterAimsAtTheExecution(t *testing.T) {
	t.Parallel()
	signals := 0
	i := &interrupter{signal: func() error { signals++; return nil }}
	expect := func(when string, want int) {
		t.Helper()
		if err := i.interrupt(); err != nil || signals != want {
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
