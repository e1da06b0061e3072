package sessions

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestAnOlderStateComesBackWhereThePresentOneHasNoCopy, and the answer says
// which, and undo goes on from there.
func TestAnOlderStateComesBackWhereThePresentOneHasNoCopy(t *testing.T) {
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.History = 3 })
	for _, code := range []string{"a", "b", "1 threads", "2 threads"} {
		run(t, m, code)
	}
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	const want = "what executions 3 and 4 did to the variables could not be brought back: 2 Python threads are running"
	if r.StateBefore != 3 || !strings.Contains(notes(r), want) || !strings.Contains(notes(r), "a note of waking") {
		t.Errorf("%d %q", r.StateBefore, r.Notes)
	}
	wantNothingDone(t, m, "execution 5 crashed and executions 3 and 4 are lost with it, so there is nothing of them to undo. Call undo again to undo execution 2")
	if r := run(t, m, "c"); r.Stdout != "a b c" || r.StateBefore != 0 {
		t.Errorf("%+v", r)
	}
	for _, execution := range []int{6, 2} {
		if u := undo(t, m); u.Execution != execution {
			t.Errorf("%+v", u)
		}
	}
	if r := run(t, m, "d"); r.Stdout != "a d" {
		t.Errorf("%+v", r)
	}
}

func TestAnOlderStateComesBackWhereTheCopyDoesNotWake(t *testing.T) {
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.History = 3 })
	for _, code := range []string{"a", "b", "c", "d"} {
		run(t, m, code)
	}
	list(t, m)
	f.waking = func(_ context.Context, u *fakeUnderstudy) error {
		if len(u.memory) > 2 {
			return errors.New("its pipes are gone")
		}
		return nil
	}
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	if r.StateBefore != 3 || !strings.Contains(notes(r), "what executions 3 and 4 did to the variables could not be brought back: their copy did not wake: its pipes are gone") {
		t.Errorf("%d %q", r.StateBefore, r.Notes)
	}
	if r := run(t, m, "e"); r.Stdout != "a b e" {
		t.Errorf("%+v", r)
	}
}

// TestAnOlderStateAfterADeathBetweenTwoCalls: the listing foretells it, and the
// next answers tell it.
func TestAnOlderStateAfterADeathBetweenTwoCalls(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	run(t, m, "2 threads")
	list(t, m)
	f.lead().die("killed by SIGKILL")
	l := list(t, m)[0]
	if want := "its process has ended; the next run brings its variables back as they were before execution 2; execution 2 is lost: 2 Python threads are running"; l.Ended != want || l.PID != 0 || l.Memory != 0 {
		t.Errorf("%+v", l)
	}
	_, told, err := m.Variables(t.Context(), me, "")
	if err != nil || len(told) != 1 || !strings.HasSuffix(told[0], "killed by SIGKILL; the variables are as they were before execution 2; execution 2 is lost") {
		t.Errorf("%q %v", told, err)
	}
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	if r.StateBefore != 2 || !strings.Contains(notes(r), "variables had been lost before") {
		t.Errorf("%d %q", r.StateBefore, r.Notes)
	}
	if r := run(t, m, "b"); r.Stdout != "a b" || r.StateRestored != nil {
		t.Errorf("%+v", r)
	}
}

// TestTheFallBackOfAnUndo: neither the state to go back to nor the present one
// wakes.
func TestTheFallBackOfAnUndo(t *testing.T) {
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.History = 3 })
	for _, code := range []string{"a", "b", "c"} {
		run(t, m, code)
	}
	list(t, m)
	f.waking = func(_ context.Context, u *fakeUnderstudy) error {
		if len(u.memory) > 1 {
			return errors.New("its pipes are gone")
		}
		return nil
	}
	undoRefused(t, m, CodeStart, "execution 3 could not be undone", "could not be brought back", "the variables are as they were before execution 2; executions 2 and 3 are lost")
	if r := run(t, m, "d"); r.Stdout != "a d" {
		t.Errorf("%+v", r)
	}
}

func TestAnInterruptThatKillsSaysWhichStateIsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		run(t, m, "a")
		run(t, m, "2 threads")
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		i, err := m.Interrupt(t.Context(), me, "")
		if err != nil || i.StateKept || i.StateRestored || !strings.Contains(i.Message, "had to be killed; the variables are as they were before execution 2") {
			t.Errorf("%+v %v", i, err)
		}
	})
}

func TestTheListingTellsOfADeadProcess(t *testing.T) {
	for code, want := range map[string]string{
		"a":         "its process has ended; the next run brings its variables back",
		"2 threads": "its process has ended; its variables are lost: 2 Python threads are running",
	} {
		f := remembers()
		m := surviving(t, f, nil)
		run(t, m, code)
		list(t, m)
		f.lead().die("killed by SIGKILL")
		if l := list(t, m)[0]; l.Ended != want || l.PID != 0 || l.Python != "" || l.Memory != 0 || l.Private != 0 {
			t.Errorf("%s: %+v", code, l)
		}
		run(t, m, "b")
		if l := list(t, m)[0]; l.Ended != "" || l.PID == 0 {
			t.Errorf("%s: %+v", code, l)
		}
	}
}

// TestADeathThatVariablesFinds is one that nobody had noticed before.
func TestADeathThatVariablesFinds(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	list(t, m)
	f.examining = func(w *fakeWorker) error {
		if len(f.started()) == 1 {
			w.die("killed by SIGKILL")
			return w.crash
		}
		return nil
	}
	variables, told, err := m.Variables(t.Context(), me, "")
	if err != nil || len(variables.Variables) != 1 || len(told) != 1 || !strings.HasSuffix(told[0], "its variables are back") {
		t.Errorf("%v %q %v", variables, told, err)
	}
	wantState(t, run(t, m, "b"), "restored", true)
}
