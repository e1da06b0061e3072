package sessions

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stubborn runs until it is killed.
func stubborn() *fakeStarter {
	return workerThat(func(w *fakeWorker, _ Request, _ Sink) (Outcome, error) {
		<-w.exited
		return Outcome{}, w.crash
	})
}

func TestRestartGoesAheadOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := stubborn()
		m := newTestManager(t, starter, nil)
		defer m.Close(t.Context())
		running := mustRun(t, m, RunRequest{Code: "x", Wait: time.Second})
		for range 2 { // the queue is full
			go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "y"}) }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := m.Restart(t.Context(), me, ""); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s", took)
		}
		r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: running.InterpreterID, Wait: 0})
		if err != nil || r.Status != StatusInterrupted || !r.InterpreterRestarted || r.RestartReason != errRestart.Error() {
			t.Errorf("%+v %v", r, err)
		}
		synctest.Wait()
		if l, _ := m.List(t.Context(), me); l[0].Running != 2 || l[0].Waiting != 1 || len(starter.started()) != 2 {
			t.Errorf("%+v with %d workers", l, len(starter.started()))
		}
	})
}

func TestDeletedIsNotRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starter := stubborn()
		m := newTestManager(t, starter, nil)
		defer m.Close(t.Context())
		l := mustCreate(t, m)
		answers := make(chan *Result, 3)
		for range 3 { // one runs, two fill the queue
			go func() {
				r, _ := m.Run(t.Context(), me, RunRequest{Code: "x", InterpreterID: l.ID})
				answers <- r
			}()
		}
		synctest.Wait()
		if err := m.Delete(t.Context(), me, l.ID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 3 {
			if r := <-answers; r != nil && (r.InterpreterRestarted || r.RestartReason != errEnd.Error() || *r.StateRestored) {
				t.Errorf("%+v", r)
			}
		}
		if n := len(starter.started()); n != 1 {
			t.Errorf("%d workers", n)
		}
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
		defer m.Close(t.Context())
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
		if workers := starter.started(); len(workers) != 1 || !workers[0].closed {
			t.Errorf("%d workers, and not closed", len(workers))
		}
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
		defer m.Close(t.Context())
		refusals := make(chan error, 1)
		go func() {
			_, err := m.Run(t.Context(), me, RunRequest{Code: "x"})
			refusals <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := m.Restart(ctx, me, ""); err != nil {
			t.Fatal(err)
		}
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
		defer m.Close(t.Context())
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: time.Second})
		if r.Status != StatusTimeout || r.ExcType != "TimeoutError" || !r.InterpreterRestarted || r.RestartReason != "killed by SIGINT" {
			t.Errorf("%+v", r)
		}
		mustRun(t, m, RunRequest{Code: "x", Wait: -1})
		i, err := m.Interrupt(t.Context(), me, "")
		if err != nil || !i.Stopped || i.StateKept || !strings.Contains(i.Message, "killed by SIGINT; the variables are lost") {
			t.Errorf("%+v %v", i, err)
		}
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
		defer m.Close(t.Context())
		r := mustRun(t, m, RunRequest{Code: "x", Timeout: time.Second})
		if r.Status != StatusTimeout || !r.InterpreterRestarted || r.StateRestored == nil || *r.StateRestored || r.Variables != nil {
			t.Errorf("%+v", r)
		}
		if n := len(starter.started()); n != 2 {
			t.Errorf("%d workers", n)
		}
	})
}

func TestACancelledCallsResultStandsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestManager(t, obeys(), nil)
		defer m.Close(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := m.Run(ctx, me, RunRequest{Code: "x"}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		mustRun(t, m, RunRequest{Code: "y", Wait: time.Second})
		for _, want := range []int{2, 2} {
			r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Second})
			if err != nil || r.Execution != want || r.Status != StatusRunning {
				t.Fatalf("%+v %v", r, err)
			}
		}
		if _, err := m.Interrupt(t.Context(), me, ""); err != nil {
			t.Fatal(err)
		}
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
		defer m.Close(t.Context())
		mustRun(t, m, RunRequest{Code: "x", Wait: -1})
		time.Sleep(2 * time.Second) // it is over
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := m.Await(ctx, me, WaitRequest{InterpreterID: "", Wait: 0}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%+v %v", r, err)
		}
		if r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 0}); err != nil || r.Status != StatusOK {
			t.Errorf("%+v %v", r, err)
		}
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
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "a"})
	starter.started()[0].die("killed by SIGKILL")
	broken = true
	_, err := m.Run(t.Context(), me, RunRequest{Code: "b"})
	wantCode(t, err, CodeStart)
	broken = false
	if r := mustRun(t, m, RunRequest{Code: "b"}); !strings.Contains(r.RestartReason, "killed by SIGKILL") || *r.StateRestored {
		t.Errorf("%+v", r)
	}
	if r := mustRun(t, m, RunRequest{Code: "c"}); r.RestartReason != "" || r.StateRestored != nil {
		t.Errorf("told twice: %+v", r)
	}
}

func TestHugeArgumentsAreRefused(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, nil)
	defer m.Close(t.Context())
	_, err := m.Run(t.Context(), me, RunRequest{Code: strings.Repeat(" ", maxCode+1)})
	wantCode(t, err, CodeInvalid, "code is 10485761 bytes", "file")
	_, err = m.Run(t.Context(), me, RunRequest{InterpreterID: strings.Repeat("x", 1<<20)})
	wantCode(t, err, CodeNotFound, "list")
	if len(err.Error()) > 300 {
		t.Errorf("the id comes back: %d bytes", len(err.Error()))
	}
	if n := len(starter.started()); n != 0 {
		t.Errorf("%d workers", n)
	}
}

func TestACutOutputIsKeptWholeHoweverLateItIsSpooled(t *testing.T) {
	text := strings.Repeat("0123456789", 2000)
	m := newTestManager(t, echoes(), func(o *Options) { o.OutputLimit, o.SpoolAfter = 10_000, 1<<20 })
	defer m.Close(t.Context())
	r := mustRun(t, m, RunRequest{Code: text})
	kept, err := os.ReadFile(r.OutputPath)
	if err != nil || string(kept) != text || r.StdoutTruncated != 10_000 {
		t.Errorf("%d of %d bytes, %d truncated, %v", len(kept), len(text), r.StdoutTruncated, err)
	}
}

// What code has removed does not keep its interpreter from being started again.
func TestRestartMakesTheWorkdirAnew(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	l := mustCreate(t, m)
	if err := os.Remove(l.Workdir); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Restart(t.Context(), me, l.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.Workdir); err != nil {
		t.Error(err)
	}
}
