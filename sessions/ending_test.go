package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func stubborn() *fakeStarter {
	return workerThat(func(w *fakeWorker, _ Request, sink Sink) (Outcome, error) {
		sink.Output(Stdout, []byte("working\n"))
		<-w.exited
		return Outcome{}, w.crash
	})
}

func TestRestartGoesAheadOfTheQueue(t *testing.T) {
	manage(t, stubborn(), nil, func(t *testing.T, m *Manager, starter *fakeStarter) {
		running := mustRun(t, m, RunRequest{Code: "x", Wait: time.Second})
		for range 2 { // the queue is full
			go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "y"}) }()
		}
		synctest.Wait()
		began := time.Now()
		restart(t, m)
		wantTook(t, began, 0)
		r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: running.InterpreterID, Wait: 0})
		expect(t, err == nil && r.Status == StatusInterrupted && r.InterpreterRestarted && r.RestartReason == errRestart.Error(), "%+v %v", r, err)
		synctest.Wait()
		l, _ := m.List(t.Context(), me)
		expect(t, l[0].Running == 2 && l[0].Waiting == 1 && len(starter.started()) == 2, "%+v with %d workers", l, len(starter.started()))
	})
}

// TestACallOutlastsNoSessionThatCanNotEnd: no signal ends a process that waits for a disk.
func TestACallOutlastsNoSessionThatCanNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan struct{})
		m := newTestManager(t, &fakeStarter{start: func(Spec) (*fakeWorker, error) {
			return &fakeWorker{answersAtDeath: true, run: func(w *fakeWorker, _ Request, _ Sink) (Outcome, error) {
				<-ends
				<-w.exited
				return Outcome{}, w.crash
			}}, nil
		}}, nil)
		answered := make(chan time.Duration, 1)
		began := time.Now()
		go func() {
			_, _ = m.Run(t.Context(), me, RunRequest{Code: "x"})
			answered <- time.Since(began)
		}()
		synctest.Wait()
		go m.Close(t.Context())
		time.Sleep(time.Hour)
		close(ends)
		took := <-answered
		expect(t, took == 45*time.Second, "answered after %s", took)
	})
}

func TestDeletedIsNotRestarted(t *testing.T) {
	manage(t, stubborn(), nil, func(t *testing.T, m *Manager, starter *fakeStarter) {
		l := mustCreate(t, m)
		answers := make(chan *Result, 3)
		for range 3 { // one runs, two fill the queue
			go func() {
				r, _ := m.Run(t.Context(), me, RunRequest{Code: "x", InterpreterID: l.ID})
				answers <- r
			}()
		}
		synctest.Wait()
		remove(t, m, l.ID)
		synctest.Wait()
		for range 3 {
			r := <-answers
			expect(t, r == nil || (!r.InterpreterRestarted && r.RestartReason == errEnd.Error() && !*r.StateRestored), "%+v", r)
		}
		same(t, 1, len(starter.started()))
	})
}

// TestEndDuringAStartLeavesNoWorker gives up waiting for a start that takes
// its time, whose worker comes when nobody wants it any more.
func TestEndDuringAStartLeavesNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := &fakeStarter{start: func(Spec) (*fakeWorker, error) {
			time.Sleep(time.Minute)
			return &fakeWorker{}, nil
		}}
		m := newTestManager(t, starter, nil)
		left := make(chan error, 1)
		go func() {
			_, err := m.Run(t.Context(), me, RunRequest{Code: "x", Wait: 2 * time.Minute})
			left <- err
		}()
		synctest.Wait()
		leaving, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m.EndClient(leaving, me)
		time.Sleep(2 * time.Minute)
		wantCode(t, <-left, CodeNotFound)
		workers := starter.started()
		expect(t, len(workers) == 1 && workers[0].closed, "%d workers, and not closed", len(workers))
	})
}

// TestRestartFindsCodeThatIsAboutToRun restarts while the first call still
// starts its interpreter.
func TestRestartFindsCodeThatIsAboutToRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := stubborn()
		quick := starter.start
		starter.start = func(s Spec) (*fakeWorker, error) { time.Sleep(time.Second); return quick(s) }
		m := newTestManager(t, starter, nil)
		refusals := make(chan error, 1)
		go func() {
			_, err := m.Run(t.Context(), me, RunRequest{Code: "x"})
			refusals <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, errOf(m.Restart(ctx, me, "")))
		wantCode(t, <-refusals, CodeBusy, "being restarted", "did not run")
	})
}

func TestWhatDiesOfTheInterruptWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, workerThat(func(w *fakeWorker, _ Request, _ Sink) (Outcome, error) {
			<-w.stopped // signal.signal(SIGINT, SIG_DFL)
			w.once.Do(func() {
				w.crash = &CrashError{Reason: "killed by SIGINT", Signal: "SIGINT", ExitCode: -1}
				close(w.exited)
			})
			return Outcome{}, w.crash
		}), nil)
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: time.Second})
		expect(t, r.Status == StatusTimeout && r.ExcType == "TimeoutError" && r.InterpreterRestarted && r.RestartReason == "killed by SIGINT", "%+v", r)
		mustRun(t, m, RunRequest{Code: "x", Wait: -1})
		i := interrupt(t, m)
		expect(t, i.Stopped && !i.StateKept && strings.Contains(i.Message, "killed by SIGINT; the variables are lost"), "%+v", i)
	})
}

// TestAnAnswerFromAKilledWorker has the code end in the moment of the kill.
func TestAnAnswerFromAKilledWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := &fakeStarter{}
		starter.start = func(Spec) (*fakeWorker, error) {
			return &fakeWorker{answersAtDeath: true, run: func(w *fakeWorker, _ Request, _ Sink) (Outcome, error) {
				<-w.exited
				return Outcome{OK: true, Signalled: true, Variables: VariableDiff{Added: []string{"x"}}}, nil
			}}, nil
		}
		m := newTestManager(t, starter, nil)
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: time.Second})
		expect(t, r.Status == StatusTimeout && r.InterpreterRestarted && r.StateRestored != nil && !*r.StateRestored && r.Variables == nil, "%+v", r)
		same(t, 2, len(starter.started()))
	})
}

func TestACancelledCallsResultStandsInNobodysWay(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runAndCancel(t, m, me)
		mustRun(t, m, RunRequest{Code: "y", Wait: time.Second})
		for _, want := range []int{2, 2} {
			r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Second})
			if err != nil || r.Execution != want || r.Status != StatusRunning {
				t.Fatalf("%+v %v", r, err)
			}
		}
		interrupt(t, m)
		for _, want := range []int{2, 1} {
			if r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Second}); err != nil || r.Execution != want || r.Status != StatusInterrupted {
				t.Fatalf("%+v %v", r, err)
			}
		}
	})
}

func TestALeavingCallerTakesNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, workerThat(func(*fakeWorker, Request, Sink) (Outcome, error) {
			time.Sleep(time.Second)
			return Outcome{OK: true}, nil
		}), nil)
		mustRun(t, m, RunRequest{Code: "x", Wait: -1})
		time.Sleep(2 * time.Second) // it is over
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := m.Await(ctx, me, WaitRequest{InterpreterID: "", Wait: 0}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%+v %v", r, err)
		}
		r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 0})
		expect(t, err == nil && r.Status == StatusOK, "%+v %v", r, err)
	})
}

func TestLostVariablesAreToldAfterAFailedStartToo(t *testing.T) {
	starter, broken := echoes(), false
	start := starter.start
	starter.start = func(s Spec) (*fakeWorker, error) {
		if broken {
			return nil, errors.New("no python")
		}
		return start(s)
	}
	m := newTestManager(t, starter, nil)
	mustRun(t, m, RunRequest{Code: "a"})
	starter.started()[0].die("killed by SIGKILL")
	broken = true
	wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "b"})), CodeStart, "no python")
	broken = false
	r := mustRun(t, m, RunRequest{Code: "b"})
	wantRun(t, r, 2, "b")
	expect(t, r.InterpreterRestarted && strings.Contains(r.RestartReason, "between two calls: killed by SIGKILL") && !*r.StateRestored, "%+v", r)
	r = mustRun(t, m, RunRequest{Code: "c"})
	expect(t, r.RestartReason == "" && r.StateRestored == nil, "told twice: %+v", r)
}

func TestHugeArgumentsAreRefused(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, nil)
	wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: strings.Repeat(" ", maxCode+1)})), CodeInvalid, "code is 10485761 bytes", "file")
	_, err := m.Run(t.Context(), me, RunRequest{InterpreterID: strings.Repeat("x", 1<<20)})
	wantCode(t, err, CodeNotFound, "list")
	expect(t, len(err.Error()) <= 300, "the id comes back: %d bytes", len(err.Error()))
	same(t, 0, len(starter.started()))
}

func TestACutOutputIsKeptWholeHoweverLateItIsSpooled(t *testing.T) {
	text := strings.Repeat("0123456789", 2000)
	m := newTestManager(t, echoes(), func(o *Options) { o.OutputLimit, o.SpoolAfter = 10_000, 1<<20 })
	r := mustRun(t, m, RunRequest{Code: text})
	kept, err := os.ReadFile(r.OutputPath)
	expect(t, err == nil && string(kept) == text && r.StdoutTruncated == 10_000, "%d of %d bytes, %d truncated, %v", len(kept), len(text), r.StdoutTruncated, err)
}

// What code has removed does not keep its interpreter from being started again.
func TestRestartMakesTheWorkdirAnew(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	l := mustCreate(t, m)
	must(t, os.Remove(l.Workdir))
	must(t, errOf(m.Restart(t.Context(), me, l.ID)))
	must(t, errOf(os.Stat(l.Workdir)))
}

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
	expect(t, r.FailuresInARow == failures && (r.Stop != "") == stop,
		"execution %d (%s): %d in a row and %q; want %d, to stop: %v", r.Execution, r.Status, r.FailuresInARow, r.Stop, failures, stop)
}

func TestFailuresInARow(t *testing.T) {
	type steps []struct {
		request  RunRequest
		failures int
	}
	code := func(code string) RunRequest { return RunRequest{Code: code, Timeout: time.Second} }
	for retries, steps := range map[int]steps{
		3: {{code("ok"), 0}, {code("error"), 1}, {code("q"), 0}, {code("crash"), 2}, {code("hang"), 3}, {code("error"), 4}, {code("ok"), 0}, {code("crash"), 1}},
		// That many trials fail is what an experiment is like.
		2: {{trial("error"), 0}, {trial("crash"), 0}, {code("error"), 1}, {trial("error"), 0}, {trial("ok"), 0}, {code("error"), 2}},
		1: {{code("error"), 1}},
		0: {{code("error"), 1}, {code("error"), 2}, {code("error"), 3}, {code("error"), 4}}, // nobody is told to stop
	} {
		manage(t, tries(), func(o *Options) { o.MaxRetries, o.Verifier = retries, picky{} }, func(t *testing.T, m *Manager, _ *fakeStarter) {
			for _, step := range steps {
				r := mustRun(t, m, step.request)
				wantFailures(t, r, step.failures, retries > 0 && step.failures >= retries)
				want := fmt.Sprintf("%d runs in a row have failed. Don't try again", step.failures)
				if retries == 1 {
					want = "This run has failed. "
				}
				expect(t, r.Stop == "" || strings.HasPrefix(r.Stop, want), "%q", r.Stop)
			}
			if retries == 0 {
				err := errOf(m.Run(t.Context(), me, code("forbidden")))
				wantCode(t, err, CodeRefused, "os is not allowed")
				expect(t, !strings.Contains(err.Error(), "[stop]"), "%v", err)
			}
		})
	}
}

// TestAnInterruptedRunShowsNothing: it neither counts nor is a success.
func TestAnInterruptedRunShowsNothing(t *testing.T) {
	manage(t, tries(), func(o *Options) { o.MaxRetries = 2 }, func(t *testing.T, m *Manager, _ *fakeStarter) {
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
			runs(t, m, "ok", "error", "error")
			must(t, test.act(m))
			all, err := m.List(t.Context(), me)
			expect(t, err == nil && all[len(all)-1].Failures == test.left, "%+v %v", all, err)
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
	mustRun(t, m, RunRequest{Code: "error"})
	refused := func(code string, reset bool) error {
		_, err := m.Run(t.Context(), me, RunRequest{Code: code, Reset: reset})
		return err
	}
	err := refused("forbidden", false)
	wantCode(t, err, CodeRefused, "os is not allowed")
	expect(t, !strings.Contains(err.Error(), "[stop]"), "%+v", err)
	err = refused("unjudged", false)
	expect(t, CodeOf(err) == "" && !strings.Contains(err.Error(), "[stop]"), "%+v", err)
	err = refused("forbidden", true)
	wantCode(t, err, CodeRefused, "line 1: os is not allowed\n[stop] 3 runs in a row have failed. Don't try again in the same way: stop, tell the user")
	expect(t, errors.Is(err, errForbidden), "the cause is lost")
	wantFailures(t, mustRun(t, m, RunRequest{Code: "error"}), 4, true)
}

// prints prints more and more until it is interrupted, or for ever.
func prints(obeys bool) *fakeStarter {
	return workerThat(func(w *fakeWorker, _ Request, sink Sink) (Outcome, error) {
		for {
			sink.Output(Stdout, bytes.Repeat([]byte("line\n"), 100))
			select {
			case <-w.exited:
				return Outcome{}, w.crash
			case <-w.stopped:
				if obeys {
					return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt"}}, nil
				}
			case <-time.After(time.Millisecond):
			}
		}
	})
}

func TestPrintLimit(t *testing.T) {
	for name, obeys := range map[string]bool{"interrupted": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			survive(t, prints(obeys), func(o *Options) { o.PrintLimit, o.OutputLimit = 1e6, 1000 }, func(t *testing.T, m *Manager, _ *fakeStarter) {
				r := run(t, m, "flood")
				expect(t, r.Status == StatusInterrupted && strings.HasPrefix(r.ExcInfo.Msg, "output limit of 1 MB reached"), "%+v", r)
				expect(t, r.InterpreterRestarted != obeys, "restarted: %v", r.InterpreterRestarted)
				expect(t, strings.HasPrefix(r.Stdout, "line\nline\n") && r.StdoutTruncated >= 1e6-2000 && r.OutputPath != "",
					"%d of stdout, %d left out, %q", len(r.Stdout), r.StdoutTruncated, r.OutputPath)
			})
		})
	}
}

// TestPrintLimitIsPerExecution: what the ones before have printed doesn't count.
func TestPrintLimitIsPerExecution(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.PrintLimit = 1000 })
	for range 3 {
		r := run(t, m, strings.Repeat("x", 1000))
		expect(t, r.Status == StatusOK, "%+v", r)
	}
}

func TestWhatMeetsTheMemoryLimitNamesIt(t *testing.T) {
	const memory, threads = "the memory limit is 1.0 GiB (--memory-limit)", "counts for the memory limit of 1.0 GiB (--memory-limit)"
	for _, test := range []struct{ exception, argument, want string }{
		{"MemoryError", `""`, memory}, {"numpy.exceptions._ArrayMemoryError", `""`, memory}, {"ValueError", `""`, ""},
		{"RuntimeError", `"can't start new thread"`, threads}, {"RuntimeError", `"another"`, ""}, {"RuntimeError", `5`, ""},
	} {
		m := newTestManager(t, workerThat(func(*fakeWorker, Request, Sink) (Outcome, error) {
			return Outcome{Exception: &Exception{Type: test.exception, Info: ExceptionInfo{Args: []json.RawMessage{json.RawMessage(test.argument)}}}}, nil
		}), func(o *Options) { o.MemoryLimit = 1 << 30 })
		got := notes(run(t, m, "x"))
		expect(t, strings.Contains(got, test.want) && strings.Contains(got, "--memory-limit") == (test.want != ""), "%+v: %q", test, got)
	}
}
