package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// me is a client without authentication, whose ids are keys; other has authenticated,
// and none of them opens anything to it.
const me, other = Client("me"), Client("principal:other")

func mustRun(t *testing.T, m *Manager, r RunRequest) *Result {
	t.Helper()
	return runAs(t, m, me, r)
}

// runAndCancel runs what goes on until it is interrupted, and cancels the call after a second.
func runAndCancel(t *testing.T, m *Manager, client Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	if _, err := m.Run(ctx, client, RunRequest{Code: "hang"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code Code, words ...string) {
	t.Helper()
	if CodeOf(err) != code {
		t.Fatalf("error %v has code %q, not %q", err, CodeOf(err), code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
	}
}

func TestDefaultSessionIsTheClientsOwn(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	first, second := mustRun(t, m, RunRequest{Code: "a"}), mustRun(t, m, RunRequest{Code: "b"})
	expect(t, first.InterpreterID == second.InterpreterID && second.Execution == 2 && second.Stdout == "b", "%+v then %+v", first, second)
	theirs, err := m.Run(t.Context(), other, RunRequest{Code: "c"})
	expect(t, err == nil && theirs.InterpreterID != first.InterpreterID && theirs.Execution == 1, "%+v %v", theirs, err)
	wantCode(t, errOf(m.Run(t.Context(), other, RunRequest{Code: "c", InterpreterID: first.InterpreterID})), CodeNotFound, first.InterpreterID, "not found")
	wantCode(t, m.Delete(t.Context(), other, first.InterpreterID), CodeNotFound)
	listings, err := m.List(t.Context(), me)
	expect(t, err == nil && len(listings) == 1 && listings[0].Default && listings[0].Executions == 2, "%+v %v", listings, err)
}

func TestLongRunIsHandedBackAndWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, workerThat(func(_ *fakeWorker, _ Request, sink Sink) (Outcome, error) {
			sink.Output(Stdout, []byte("start\n"))
			time.Sleep(100 * time.Second)
			sink.Output(Stdout, []byte("end\n"))
			sink.Figure(Figure{Path: "/f.png"})
			return Outcome{OK: true, ExecTime: 100 * time.Second}, nil
		}), nil)
		var seen []Progress
		first := mustRun(t, m, RunRequest{Code: "x", Progress: func(p Progress) { seen = append(seen, p) }})
		if first.Status != StatusRunning || first.Stdout != "start\n" || first.Success {
			t.Fatalf("%+v", first)
		}
		n := len(seen)
		expect(t, n >= 40 && seen[n-1].LastLine == "start" && seen[n-1].Limit == time.Hour, "%d progress reports, last %+v", n, seen[n-1])
		again, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 0})
		if err != nil || again.Status != StatusRunning || again.Stdout != "" {
			t.Fatalf("%+v %v", again, err)
		}
		final, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: first.InterpreterID, Wait: time.Minute})
		if err != nil || final.Status != StatusOK || final.Stdout != "end\n" || len(final.Figures) != 1 || final.ExecTime != 100 {
			t.Fatalf("%+v %v", final, err)
		}
		wantCode(t, errOf(m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 0})), CodeInvalid, "nothing is running")
	})
}

func TestTimeLimitInterruptsAndKeepsState(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, starter *fakeStarter) {
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: 2 * time.Second})
		expect(t, r.Status == StatusTimeout && r.ExcType == "TimeoutError" && r.Stdout == "working\nstopping\n" && r.StateRestored == nil && !r.InterpreterRestarted,
			"%+v", r)
		expect(t, len(starter.started()) == 1, "%d workers", len(starter.started()))
	})
}

func TestTimeLimitKillsWhatIgnoresIt(t *testing.T) {
	manage(t, stubborn(), nil, func(t *testing.T, m *Manager, starter *fakeStarter) {
		began := time.Now()
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: 2 * time.Second})
		wantTook(t, began, 7*time.Second)
		expect(t, r.Status == StatusTimeout && r.ExcType == "TimeoutError" && r.Stdout == "working\n" && r.InterpreterRestarted && r.StateRestored != nil && !*r.StateRestored,
			"%+v", r)
		expect(t, strings.Contains(strings.Join(r.Notes, "; "), "2 other processes ended"), "notes: %q", r.Notes)
		workers := starter.started()
		expect(t, len(workers) == 2 && workers[0].closed, "%d workers", len(workers))
	})
}

func TestAQuickEndIsNotATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, workerThat(func(w *fakeWorker, _ Request, _ Sink) (Outcome, error) {
			<-w.stopped // the interrupt comes when the code has just ended
			return Outcome{OK: true}, nil
		}), nil)
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: time.Second})
		expect(t, r.Status == StatusOK && r.Success, "%+v", r)
	})
}

func TestInterruptSaysWhatItStopped(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		i, err := m.Interrupt(t.Context(), me, mustCreate(t, m).ID)
		expect(t, err == nil && !i.Stopped && i.Message == "nothing was running", "%+v %v", i, err)
		running := mustRun(t, m, RunRequest{Code: "x", Wait: 3 * time.Second})
		i, err = m.Interrupt(t.Context(), me, running.InterpreterID)
		if err != nil || !i.Stopped || !i.StateKept || i.Where.Line != 3 || !strings.Contains(i.Message, "stopped execution 1 after 3 seconds at line 3 of <cell 1>: while True: pass") {
			t.Fatalf("%+v %v", i, err)
		}
		r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: running.InterpreterID, Wait: 0})
		expect(t, err == nil && r.Status == StatusInterrupted && r.Stdout == "stopping\n" && r.ExcType == "KeyboardInterrupt", "%+v %v", r, err)
	})
}

// A stop that is asked for before the worker has begun is not forgotten.
func TestInterruptBeforeTheRun(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, starter *fakeStarter) {
		mustCreate(t, m)
		made := starter.started()
		made[len(made)-1].early = 3
		running := mustRun(t, m, RunRequest{Code: "x", Wait: 3 * time.Second, InterpreterID: made[len(made)-1].spec.InterpreterID})
		i, err := m.Interrupt(t.Context(), me, running.InterpreterID)
		expect(t, err == nil && i.Stopped && i.StateKept, "%+v %v", i, err)
	})
}

func mustCreate(t *testing.T, m *Manager) Listing {
	t.Helper()
	l, err := m.Create(t.Context(), me, CreateRequest{})
	must(t, err)
	return l
}

func TestCancellingTheCallInterrupts(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runAndCancel(t, m, me)
		r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 0})
		expect(t, err == nil && r.Status == StatusInterrupted && strings.Contains(r.ExcInfo.Msg, "call was cancelled") && r.Stdout == "working\nstopping\n",
			"%+v %v", r, err)
	})
}

func TestBusyRunsNothing(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		mustRun(t, m, RunRequest{Code: "x", Wait: time.Second})
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "y", Wait: 9 * time.Second})), CodeBusy, "execution 1 has been running for 10 seconds", "did not run", "wait", "interrupt")
		for range 2 { // fill the queue
			go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "y", Wait: time.Minute}) }()
		}
		synctest.Wait()
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "y"})), CodeBusy, "2 calls wait")
		time.Sleep(2 * time.Minute)
		l, _ := m.List(t.Context(), me)
		expect(t, l[0].Executions == 1 && l[0].Status == "busy" && l[0].Running == 1, "%+v", l)
	})
}

func TestTurnsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := make(chan string, 3)
		m := newTestManager(t, workerThat(func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
			time.Sleep(time.Second)
			order <- r.Code
			return Outcome{OK: true}, nil
		}), nil)
		for _, code := range []string{"a", "b", "c"} {
			go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: code}) }()
			synctest.Wait()
		}
		for _, want := range []string{"a", "b", "c"} {
			got := <-order
			expect(t, got == want, "%s ran in %s's turn", got, want)
		}
		synctest.Wait()
	})
}

func TestASlowStartIsNotWaitedForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := &fakeStarter{start: func(Spec) (*fakeWorker, error) {
			time.Sleep(25 * time.Second)
			return &fakeWorker{run: func(*fakeWorker, Request, Sink) (Outcome, error) { return Outcome{OK: true}, nil }}, nil
		}}
		m := newTestManager(t, starter, nil)
		began := time.Now()
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x", Wait: time.Second})), CodeBusy, "still starting", "did not run")
		wantTook(t, began, startPatience)
		r := mustRun(t, m, RunRequest{Code: "x"})
		expect(t, r.Execution == 1 && len(starter.started()) == 1, "%+v by %d workers", r, len(starter.started()))
		wantTook(t, began, 25*time.Second)
	})
}

func TestDeleteEndsWorkerAndFiles(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, nil)
	l := mustCreate(t, m)
	must(t, os.WriteFile(filepath.Join(l.Workdir, "data"), nil, 0o600))
	wantCode(t, m.Delete(t.Context(), me, ""), CodeInvalid, "interpreter_id is required for delete operation")
	remove(t, m, l.ID)
	_, err := os.Stat(l.Workdir)
	expect(t, errors.Is(err, os.ErrNotExist), "workdir is still there: %v", err)
	expect(t, starter.started()[0].closed, "worker lives")
	wantCode(t, m.Delete(t.Context(), me, l.ID), CodeNotFound)
}

func TestDeleteStopsWhatRuns(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		l := mustCreate(t, m)
		answers := make(chan *Result, 1)
		go func() {
			r, _ := m.Run(t.Context(), me, RunRequest{Code: "x", InterpreterID: l.ID})
			answers <- r
		}()
		synctest.Wait()
		remove(t, m, l.ID)
		r := <-answers
		expect(t, r != nil && r.Status == StatusInterrupted && r.Stdout == "working\n", "%+v", r)
	})
}

func TestTheEndOfASessionWaitsForNoGrace(t *testing.T) {
	manage(t, stubborn(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runAndCancel(t, m, me)
		began := time.Now()
		m.Close(t.Context())
		wantTook(t, began, 0)
	})
}

func TestLimits(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	for range 4 {
		mustCreate(t, m)
	}
	wantCode(t, errOf(m.Create(t.Context(), me, CreateRequest{})), CodeLimit, "limit of 4", "--max-sessions", "delete")
	wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x", Timeout: 3 * time.Hour})), CodeInvalid, "timeout", "7200")
}

func TestEndOfAClientEndsItsSessionsOnly(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	mine := mustRun(t, m, RunRequest{Code: "a"})
	theirs := runAs(t, m, other, RunRequest{Code: "b"})
	m.EndClient(t.Context(), me)
	wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x", InterpreterID: mine.InterpreterID})), CodeNotFound)
	r, err := m.Run(t.Context(), other, RunRequest{Code: "b"})
	expect(t, err == nil && r.InterpreterID == theirs.InterpreterID, "%+v %v", r, err)
}

func TestIdleSessionsEndAndRunningOnesDoNot(t *testing.T) {
	manage(t, obeys(), func(o *Options) { o.IdleTTL = time.Minute }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		idle := mustCreate(t, m)
		running := mustRun(t, m, RunRequest{Code: "x", Wait: time.Second})
		time.Sleep(10 * time.Minute)
		listings, err := m.List(t.Context(), me)
		expect(t, err == nil && len(listings) == 1 && listings[0].ID == running.InterpreterID && listings[0].ID != idle.ID, "%+v %v", listings, err)
	})
}

func TestClosedManagerStartsNothing(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	m.Close(t.Context())
	wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x"})), CodeClosed)
}

// TestACommandEnds: with its exit code, and without a traceback when it was stopped.
func TestACommandEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := workerThat(func(w *fakeWorker, r Request, _ Sink) (Outcome, error) {
			expect(t, r.Kind == RunsCommand, "kind %q", r.Kind)
			if r.Code == "sleep" {
				<-w.stopped
				return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt", Traceback: "KeyboardInterrupt\n"}}, nil
			}
			code := len(r.Code)
			return Outcome{OK: code == 0, ExitCode: &code}, nil
		})
		m := newTestManager(t, f, func(*Options) {})
		for command, want := range map[string]Result{
			"":      {Status: StatusOK, ExitCode: new(int)},
			"x":     {Status: StatusError, ExitCode: func() *int { one := 1; return &one }()},
			"sleep": {Status: StatusTimeout, ExcType: "TimeoutError"},
		} {
			r := mustRun(t, m, RunRequest{Kind: RunsCommand, Code: command, Timeout: time.Second})
			got := Result{Status: r.Status, ExitCode: r.ExitCode, ExcType: r.ExcType, Traceback: r.Traceback}
			diff := cmp.Diff(want, got)
			expect(t, diff == "" && r.Success == (want.Status == StatusOK) && r.Kind == RunsCommand, "%q: %s", command, diff)
		}
	})
}
