package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tries is a worker whose code says how it ends; its runs can be copied.
func tries() *fakeStarter {
	f := workerThat(func(w *fakeWorker, r Request, _ Sink) (Outcome, error) {
		switch r.Code {
		case "crash":
			w.die("it crashed")
			return Outcome{}, w.crash
		case "hang":
			select {
			case <-w.stopped:
				return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt"}}, nil
			case <-w.exited:
				return Outcome{}, w.crash
			}
		case "q":
			return Outcome{Exception: &Exception{Type: "BdbQuit"}}, nil
		case "error":
			return Outcome{Exception: &Exception{Type: "NameError"}}, nil
		}
		return Outcome{OK: true}, nil
	})
	f.forks = true
	return f
}

// picky refuses one code, and can't judge another.
type picky struct{}

func (picky) Verify(_ context.Context, _ Client, _ Kind, code string) (Judged, error) {
	switch code {
	case "forbidden":
		return Judged{}, &Error{Code: CodeRefused, Message: "line 1: os is not allowed", Err: errForbidden}
	case "unjudged":
		return Judged{}, errors.New("the checker has died")
	}
	return Judged{}, nil
}

var errForbidden = errors.New("forbidden")

func wantFailures(t *testing.T, r *Result, failures int, stop bool) {
	t.Helper()
	if r.FailuresInARow != failures || (r.Stop != "") != stop {
		t.Errorf("execution %d (%s): %d in a row and %q; want %d, to stop: %v", r.Execution, r.Status, r.FailuresInARow, r.Stop, failures, stop)
	}
}

func TestFailuresInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, tries(), func(o *Options) { o.MaxRetries = 3 })
		defer m.Close(t.Context())
		for _, step := range []struct {
			code     string
			failures int
			stop     bool
		}{
			{"ok", 0, false},
			{"error", 1, false}, {"q", 0, false}, {"crash", 2, false}, {"hang", 3, true}, {"error", 4, true},
			{"ok", 0, false},
			{"crash", 1, false},
		} {
			r := mustRun(t, m, RunRequest{Code: step.code, Timeout: time.Second})
			wantFailures(t, r, step.failures, step.stop)
			if step.stop && !strings.HasPrefix(r.Stop, fmt.Sprintf("%d runs in a row have failed. Don't try again", step.failures)) {
				t.Errorf("%q", r.Stop)
			}
		}
	})
}

// TestTrialsAreNotCounted: that many fail is what an experiment is like.
func TestTrialsAreNotCounted(t *testing.T) {
	m := newTestManager(t, tries(), func(o *Options) { o.MaxRetries = 2 })
	defer m.Close(t.Context())
	for _, step := range []struct {
		request  RunRequest
		failures int
	}{{trial("error"), 0}, {trial("crash"), 0}, {RunRequest{Code: "error"}, 1}, {trial("error"), 0}, {trial("ok"), 0}, {RunRequest{Code: "error"}, 2}} {
		wantFailures(t, mustRun(t, m, step.request), step.failures, step.failures == 2)
	}
}

// TestAnInterruptedRunShowsNothing: it neither counts nor is a success.
func TestAnInterruptedRunShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, tries(), func(o *Options) { o.MaxRetries = 2 })
		defer m.Close(t.Context())
		wantFailures(t, mustRun(t, m, RunRequest{Code: "error"}), 1, false)
		mustRun(t, m, RunRequest{Code: "hang", Wait: -1})
		if i, err := m.Interrupt(t.Context(), me, ""); err != nil || !i.Stopped {
			t.Fatal(i, err)
		}
		r, err := m.Await(t.Context(), me, WaitRequest{})
		if err != nil || r.Status != StatusInterrupted {
			t.Fatal(r, err)
		}
		wantFailures(t, r, 0, false)
		wantFailures(t, mustRun(t, m, RunRequest{Code: "error"}), 2, true)
	})
}

func TestWhatClearsFailures(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(m *Manager) error
		left int
	}{
		"restart":  {func(m *Manager) error { _, err := m.Restart(t.Context(), me, ""); return err }, 0},
		"undo":     {func(m *Manager) error { _, err := m.Undo(t.Context(), me, ""); return err }, 2},
		"a branch": {func(m *Manager) error { _, err := m.Branch(t.Context(), me, ""); return err }, 2}, // the last in the list
	} {
		t.Run(name, func(t *testing.T) {
			m := surviving(t, tries(), func(o *Options) { o.MaxRetries = 3 })
			run(t, m, "ok")
			run(t, m, "error")
			run(t, m, "error")
			if err := test.act(m); err != nil {
				t.Fatal(err)
			}
			all, err := m.List(t.Context(), me)
			if err != nil || all[len(all)-1].Failures != test.left {
				t.Errorf("%+v %v", all, err)
			}
			r := mustRun(t, m, RunRequest{Code: "error", InterpreterID: all[len(all)-1].ID})
			wantFailures(t, r, test.left+1, test.left+1 >= 3)
			r = mustRun(t, m, RunRequest{Code: "error", InterpreterID: r.InterpreterID, Reset: true})
			wantFailures(t, r, 1, false)
		})
	}
}

// TestRefusalsCount: also those of a run that would have reset the session.
func TestRefusalsCount(t *testing.T) {
	m := newTestManager(t, tries(), func(o *Options) { o.MaxRetries, o.Verifier = 3, picky{} })
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "error"})
	refused := func(code string, reset bool) error {
		_, err := m.Run(t.Context(), me, RunRequest{Code: code, Reset: reset})
		return err
	}
	err := refused("forbidden", false)
	wantCode(t, err, CodeRefused, "os is not allowed")
	if strings.Contains(err.Error(), "[stop]") {
		t.Error(err)
	}
	if err := refused("unjudged", false); CodeOf(err) != "" || strings.Contains(err.Error(), "[stop]") {
		t.Error(err)
	}
	err = refused("forbidden", true)
	wantCode(t, err, CodeRefused, "line 1: os is not allowed\n[stop] 3 runs in a row have failed. Don't try again in the same way: stop, tell the user")
	if !errors.Is(err, errForbidden) {
		t.Error("the cause is lost")
	}
	wantFailures(t, mustRun(t, m, RunRequest{Code: "error"}), 4, true)
}

func TestNobodyIsToldToStop(t *testing.T) {
	m := newTestManager(t, tries(), func(o *Options) { o.Verifier = picky{} })
	defer m.Close(t.Context())
	for i := range 10 {
		wantFailures(t, mustRun(t, m, RunRequest{Code: "error"}), i+1, false)
	}
	_, err := m.Run(t.Context(), me, RunRequest{Code: "forbidden"})
	wantCode(t, err, CodeRefused, "os is not allowed")
	if strings.Contains(err.Error(), "[stop]") {
		t.Error(err)
	}
}

func TestTheFirstFailureMayBeTheLast(t *testing.T) {
	m := newTestManager(t, tries(), func(o *Options) { o.MaxRetries = 1 })
	defer m.Close(t.Context())
	r := mustRun(t, m, RunRequest{Code: "error"})
	wantFailures(t, r, 1, true)
	if !strings.HasPrefix(r.Stop, "This run has failed. ") {
		t.Error(r.Stop)
	}
}
