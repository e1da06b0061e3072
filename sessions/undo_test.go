package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func undo(t *testing.T, m *Manager) *Undone {
	t.Helper()
	u, err := m.Undo(t.Context(), me, "")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// undoRefused wants an undo refused with these words.
func undoRefused(t *testing.T, m *Manager, code Code, words ...string) {
	t.Helper()
	_, err := m.Undo(t.Context(), me, "")
	wantCode(t, err, code, words...)
}

func TestUndoGoesBackOnce(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	for _, code := range []string{"a", "b", "c"} {
		run(t, m, code)
	}
	u := undo(t, m)
	if u.Execution != 3 || u.Left != 0 || !slices.Equal(u.Notes, []string{"a note of waking"}) {
		t.Errorf("%+v", u)
	}
	for _, want := range []string{"execution 3 is undone", "as they were before it", "There is no earlier state to undo to (--history keeps 1).", "Files and what went over the network are not undone; child processes are ended"} {
		if !strings.Contains(u.Message, want) {
			t.Errorf("%q says nothing of %q", u.Message, want)
		}
	}
	undoRefused(t, m, CodeInvalid, "there is no earlier state to undo to (--history keeps 1). Instead, assign the earlier values")
	r := run(t, m, "d")
	if r.Stdout != "a b d" || r.Execution != 4 || r.StateRestored != nil {
		t.Errorf("%+v", r)
	}
	if u := undo(t, m); u.Execution != 4 {
		t.Errorf("%+v", u)
	}
	wantState(t, run(t, m, "crash"), "restored", true)
	if r := run(t, m, "e"); r.Stdout != "a b e" {
		t.Errorf("%+v", r)
	}
}

func TestUndoTwiceWithAHistoryOfTwo(t *testing.T) {
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.History = 2 })
	for _, code := range []string{"a", "b", "c"} {
		run(t, m, code)
	}
	u := undo(t, m)
	if u.Execution != 3 || u.Left != 1 || !strings.Contains(u.Message, "More can be undone, the latest first: execution 2") {
		t.Errorf("%+v", u)
	}
	if u = undo(t, m); u.Execution != 2 || u.Left != 0 {
		t.Errorf("%+v", u)
	}
	undoRefused(t, m, CodeInvalid, "there is no earlier state to undo to (--history keeps 2)")
	if r := run(t, m, "d"); r.Stdout != "a d" {
		t.Errorf("%+v", r)
	}
}

func TestUndoToTheBeginning(t *testing.T) {
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.History = 9 })
	run(t, m, "a")
	run(t, m, "b")
	undo(t, m)
	u := undo(t, m)
	if u.Execution != 1 || u.Left != 0 || !strings.Contains(u.Message, "there are no variables, as before it. There is nothing more to undo") {
		t.Errorf("%+v", u)
	}
	undoRefused(t, m, CodeInvalid, "nothing to undo", "since the interpreter was made")
	wantState(t, run(t, m, "crash"), "restored", true)
	if r := run(t, m, "c"); r.Stdout != "c" || r.Execution != 4 {
		t.Errorf("%+v", r)
	}
}

func TestAnUndoneStartThatFailsIsTriedAgain(t *testing.T) {
	f := remembers()
	start := f.start
	m := surviving(t, f, nil)
	run(t, m, "a")
	f.start = func(Spec) (*fakeWorker, error) { return nil, errors.New("no memory") }
	if u := undo(t, m); u.Execution != 1 || !strings.Contains(strings.Join(u.Notes, ""), "no memory; the next call tries again") {
		t.Errorf("%+v", u)
	}
	f.start = start
	if r := run(t, m, "b"); r.Stdout != "b" || r.InterpreterRestarted {
		t.Errorf("%+v", r)
	}
}

// wantNothingDone has an undo say so in these words and do nothing.
func wantNothingDone(t *testing.T, m *Manager, words string) {
	t.Helper()
	if u := undo(t, m); u.Execution != 0 || u.Message != words {
		t.Errorf("%+v", u)
	}
}

// TestUndoAfterACrash undoes what ran before the crash, which had no effect,
// when it is called a second time.
func TestUndoAfterACrash(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	run(t, m, "b")
	run(t, m, "crash")
	run(t, m, "crash")
	wantNothingDone(t, m, "execution 4 crashed and left nothing behind, so there is nothing of it to undo. Call undo again to undo execution 2")
	if u := undo(t, m); u.Execution != 2 {
		t.Errorf("%+v", u)
	}
	if r := run(t, m, "c"); r.Stdout != "a c" {
		t.Errorf("%+v", r)
	}
}

func TestUndoAfterAKill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		mustRun(t, m, RunRequest{Code: "hang", Timeout: time.Second})
		wantNothingDone(t, m, "execution 1 had to be killed and left nothing behind, so there is nothing of it to undo. There is nothing more to undo")
		undoRefused(t, m, CodeInvalid, "nothing has run since")
	})
}

// TestACrashIsForgottenWithWhatCameAfter: only the last execution is told of.
func TestACrashIsForgottenWithWhatCameAfter(t *testing.T) {
	m := surviving(t, remembers(), nil)
	run(t, m, "a")
	run(t, m, "crash")
	run(t, m, "b")
	if u := undo(t, m); u.Execution != 3 {
		t.Errorf("%+v", u)
	}
	run(t, m, "crash")
	if _, err := m.Restart(t.Context(), me, ""); err != nil {
		t.Fatal(err)
	}
	undoRefused(t, m, CodeInvalid, "nothing has run since")
}

func TestUndoAfterALossSaysSo(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "1 threads")
	run(t, m, "2 threads")
	wantState(t, run(t, m, "crash"), "lost", true)
	_, err := m.Undo(t.Context(), me, "")
	if CodeOf(err) != CodeInvalid || err.Error() != "nothing to undo: the interpreter was started afresh after a crash" {
		t.Error(err)
	}
	run(t, m, "a")
	if u := undo(t, m); u.Execution != 4 {
		t.Errorf("%+v", u)
	}
}

func TestUndoOfAnExceptionAndOfADeadInterpreter(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	run(t, m, "raise")
	list(t, m)
	f.lead().die("killed by SIGKILL")
	if u := undo(t, m); u.Execution != 2 {
		t.Errorf("%+v", u)
	}
	if r := run(t, m, "b"); r.Stdout != "a b" || r.InterpreterRestarted {
		t.Errorf("%+v", r)
	}
}

func TestUndoOfACallThatLeftNoCheckpoint(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	run(t, m, "2 threads")
	if u := undo(t, m); u.Execution != 2 {
		t.Errorf("%+v", u)
	}
	if r := run(t, m, "2 threads"); r.Stdout != "a 2 threads" {
		t.Errorf("%+v", r)
	}
	if r := run(t, m, "b"); r.Stdout != "a 2 threads b" {
		t.Errorf("%+v", r)
	}
	undoRefused(t, m, CodeInvalid, "execution 4 can't be undone", "2 Python threads are running")
}

func TestUndoIsRefusedWhileACallRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		run(t, m, "a")
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		undoRefused(t, m, CodeBusy, "execution 2 has been running for 1 second", "nothing was undone", "wait", "interrupt")
	})
}

// TestUndoDoesNotTakeAnotherCallsExecution has one come in between.
func TestUndoDoesNotTakeAnotherCallsExecution(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		f.forking = func(context.Context, *fakeWorker, Purpose) error { time.Sleep(time.Second); return nil }
		m := surviving(t, f, nil)
		run(t, m, "a")
		go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "b"}) }() // waits for the copy to be made
		synctest.Wait()
		undoRefused(t, m, CodeBusy, "execution 2 ran", "nothing was undone")
	})
}

func TestUndoNeedsHistoryAndForks(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.History = 0 })
	run(t, m, "a")
	list(t, m)
	undoRefused(t, m, CodeInvalid, "there is no earlier state to undo to (--history is 0)")
	wantState(t, run(t, m, "crash"), "restored", true) // which needs none

	f := remembers()
	f.forks = false
	m = surviving(t, f, nil)
	run(t, m, "a")
	undoRefused(t, m, CodeInvalid, `"undo" is not possible here: fakes can't be copied; assign the earlier values`)
}

func TestAnUndoThatFailsKeepsTheVariables(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	run(t, m, "b")
	list(t, m)
	first := true
	f.waking = func(context.Context, *fakeUnderstudy) error {
		if first {
			first = false
			return errors.New("its pipes are gone")
		}
		return nil
	}
	undoRefused(t, m, CodeStart, "execution 2 could not be undone", "its pipes are gone", "the variables are as they were after it")
	undoRefused(t, m, CodeInvalid, "its copy did not wake")
	if r := run(t, m, "c"); r.Stdout != "a b c" {
		t.Errorf("%+v", r)
	}
	list(t, m)
	f.waking = func(context.Context, *fakeUnderstudy) error { return errors.New("gone") }
	undoRefused(t, m, CodeStart, "could not be undone", "are lost", "fresh interpreter")
	if r := run(t, m, "d"); r.Stdout != "d" {
		t.Errorf("%+v", r)
	}
}

// TestNobodyEndsForACopyThatDoesNotAnswer: the worker that lives goes on.
func TestNobodyEndsForACopyThatDoesNotAnswer(t *testing.T) {
	f := remembers()
	m := surviving(t, f, nil)
	run(t, m, "a")
	run(t, m, "b")
	list(t, m)
	lead := f.lead()
	f.rousing = func(context.Context, *fakeUnderstudy) error { return errors.New("its socket is closed") }
	undoRefused(t, m, CodeStart, "execution 2 could not be undone: their copy did not wake: its socket is closed; the variables are as they were after it")
	if hasExited(lead) || f.lead() != lead {
		t.Error("the worker was ended")
	}
	if r := run(t, m, "c"); r.Stdout != "a b c" {
		t.Errorf("%+v", r)
	}
}

func TestDeleteDuringAnUndo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		m := surviving(t, f, nil)
		run(t, m, "a")
		id := run(t, m, "b").InterpreterID
		list(t, m)
		f.waking = func(ctx context.Context, _ *fakeUnderstudy) error { <-ctx.Done(); return ctx.Err() }
		refusals := make(chan error, 1)
		go func() {
			_, err := m.Undo(t.Context(), me, id)
			refusals <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := m.Delete(t.Context(), me, id); err != nil {
			t.Fatal(err)
		}
		wantCode(t, <-refusals, CodeNotFound, id)
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
	})
}

func TestADeadEarlierStateIsNotPromised(t *testing.T) {
	f := remembers()
	m := surviving(t, f, func(o *Options) { o.History = 3 })
	for i := range 3 {
		run(t, m, fmt.Sprint(i+1))
	}
	list(t, m)
	all, _ := f.copies()
	all[0].die() // after execution 1
	if u := undo(t, m); u.Execution != 3 || u.Left != 0 || !strings.Contains(u.Message, ". Execution 2 can't be undone: the variables as they were before it can't be brought back: the process that held their copy was ended from outside") {
		t.Errorf("%+v", u)
	}
	undoRefused(t, m, CodeInvalid, "execution 2 can't be undone")
}
