package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// remembers is a starter whose workers can be copied and whose code is
// remembered and printed, but for these words:
//
//	crash, hang       the worker dies; it runs until it is killed
//	crash once        it dies, but not a second time
//	raise             it ends with an exception
//	threads, 3 threads  it leaves threads behind, so that it can't be copied
func remembers() *fakeStarter {
	var crashed atomic.Bool
	f := workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		code := r.Code
		if code == "crash once" && !crashed.Swap(true) {
			code = "crash"
		}
		switch code {
		case "crash":
			sink.Output(Stdout, []byte("before\n"))
			w.die("killed by SIGSEGV at <cell 1>, line 1")
			return Outcome{}, w.crash
		case "hang":
			<-w.exited
			return Outcome{}, w.crash
		}
		w.remember(r.Code)
		sink.Output(Stdout, []byte(strings.Join(w.remembered(), " ")))
		outcome := Outcome{OK: r.Code != "raise"}
		if strings.HasSuffix(r.Code, "threads") {
			outcome.Obstacle = strings.Replace(r.Code, "threads", "Python threads are running", 1)
		}
		return outcome, nil
	})
	f.forks = true
	return f
}

// surviving returns a manager of such sessions. At the test's end it is closed
// and nothing may be left.
func surviving(t *testing.T, f *fakeStarter, change func(*Options)) *Manager {
	t.Helper()
	m := newTestManager(t, f, func(o *Options) {
		o.History = 1
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(func() {
		m.Close(context.Background())
		f.checkEnd(t)
	})
	return m
}

// bubble runs a test with simulated time. What it cleans up is in it too.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// survive runs a test of such sessions with simulated time.
func survive(t *testing.T, f *fakeStarter, change func(*Options), test func(*testing.T, *Manager, *fakeStarter)) {
	t.Helper()
	bubble(t, func(t *testing.T) { test(t, surviving(t, f, change), f) })
}

// manage is survive for sessions without a history.
func manage(t *testing.T, f *fakeStarter, change func(*Options), test func(*testing.T, *Manager, *fakeStarter)) {
	t.Helper()
	bubble(t, func(t *testing.T) { test(t, newTestManager(t, f, change), f) })
}

// survivors are sessions that survive their crashes, in the world's time.
func survivors(t *testing.T, change func(*Options)) (*Manager, *fakeStarter) {
	t.Helper()
	f := remembers()
	return surviving(t, f, change), f
}

func run(t *testing.T, m *Manager, code string) *Result {
	t.Helper()
	return mustRun(t, m, RunRequest{Code: code})
}

// wantState checks what a result says of the interpreter: "" for nothing,
// "restored" or "lost", and whether the state it left is recoverable.
func wantState(t *testing.T, r *Result, state string, recoverable bool) {
	t.Helper()
	got := ""
	if r.StateRestored != nil {
		got = map[bool]string{true: "restored", false: "lost"}[*r.StateRestored]
	}
	expect(t, got == state && r.InterpreterRestarted == (state != "") && (r.RestartReason != "") == (state != ""),
		"execution %d (%s): state %q, restarted %v because %q; want %q", r.Execution, r.Status, got, r.InterpreterRestarted, r.RestartReason, state)
	expect(t, r.Recoverable != nil && *r.Recoverable == recoverable, "execution %d (%s): recoverable is %v, not %v", r.Execution, r.Status, r.Recoverable, recoverable)
}

// runs runs one after another.
func runs(t *testing.T, m *Manager, codes ...string) {
	t.Helper()
	for _, code := range codes {
		run(t, m, code)
	}
}

// kill ends the worker between two calls, when its copy has been made.
func kill(t *testing.T, m *Manager, f *fakeStarter) {
	t.Helper()
	list(t, m)
	f.lead().die("killed by SIGKILL")
}

// failsBeyond has copies wake only if they remember no more executions than these.
func failsBeyond(most int) func(context.Context, *fakeUnderstudy) error {
	return func(_ context.Context, u *fakeUnderstudy) error {
		if len(u.memory) > most {
			return errors.New("its pipes are gone")
		}
		return nil
	}
}

// wakesNever hangs until nobody waits any more.
func wakesNever(ctx context.Context, _ *fakeUnderstudy) error { <-ctx.Done(); return ctx.Err() }

func notes(r *Result) string { return strings.Join(r.Notes, "\n") }

// list describes the sessions once our own work for their last calls is done, for
// which List itself waits no longer than a moment.
func list(t *testing.T, m *Manager) []Listing {
	t.Helper()
	for _, s := range m.ownedBy(me) {
		s.awaitCopy(t.Context())
	}
	all, err := m.List(t.Context(), me)
	must(t, err)
	return all
}

func TestACrashCostsTheCallAtFault(t *testing.T) {
	m := surviving(t, remembers(), nil)
	wantState(t, run(t, m, "a"), "", true)
	wantState(t, run(t, m, "raise"), "", true)
	r := run(t, m, "crash")
	wantState(t, r, "restored", true)
	expect(t, r.Status == StatusCrashed && r.Stdout == "before\n" && strings.Contains(r.RestartReason, "SIGSEGV") && strings.Contains(notes(r), "a note of waking"),
		"%+v", r)
	r = run(t, m, "b")
	wantState(t, r, "", true)
	expect(t, r.Stdout == "a raise b" && r.Execution == 4, "%+v", r)
}

func TestTwentyCrashesAreLikeOne(t *testing.T) {
	m, f := survivors(t, nil)
	run(t, m, "a")
	for range 20 {
		wantState(t, run(t, m, "crash"), "restored", true)
	}
	wantRun(t, run(t, m, "b"), 22, "a b")
	l := list(t, m)[0]
	expect(t, l.Recoverable, "%+v", l)
	if _, asleep := f.copies(); asleep != 2 { // the present state and the one before it
		t.Errorf("%d copies", asleep)
	}
}

func TestACrashOfTheFirstCallLosesNothing(t *testing.T) {
	m, f := survivors(t, nil)
	wantState(t, run(t, m, "crash"), "restored", true)
	wantOut(t, run(t, m, "a"), "a")
	list(t, m) // waits for the copy
	all, _ := f.copies()
	expect(t, len(f.started()) == 2 && len(all) == 1, "%d workers, %d copies", len(f.started()), len(all))
}

func TestWithoutForksNothingIsPromised(t *testing.T) {
	f := remembers()
	f.forks = false
	m := surviving(t, f, nil)
	r := run(t, m, "a")
	wantState(t, r, "", false)
	expect(t, len(r.Notes) == 0, "notes for every call: %q", r.Notes)
	l := list(t, m)[0]
	expect(t, !l.Recoverable && l.Obstacle == f.ForkObstacle(), "%+v", l)
	wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeInvalid, `operation "branch" is not possible here: fakes can't be copied`, "create")
	undoRefused(t, m, CodeInvalid, `"undo" is not possible here: fakes can't be copied; assign the earlier values`)
	r = run(t, m, "crash")
	wantState(t, r, "lost", false)
	wantNotes(t, r, "could not be brought back: fakes can't be copied")
	wantRun(t, run(t, m, "b"), 3, "b")
	all, _ := f.copies()
	expect(t, len(all) == 0 && len(f.started()) == 2, "%d copies, %d workers", len(all), len(f.started()))
}

func TestAHangThatWasKilledIsUndone(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		run(t, m, "a")
		r := mustRun(t, m, RunRequest{Code: "hang", Timeout: 2 * time.Second})
		wantState(t, r, "restored", true)
		expect(t, r.Status == StatusTimeout && strings.Contains(r.RestartReason, "ignored the interrupt"), "%+v", r)
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		i := interrupt(t, m)
		expect(t, i.Stopped && !i.StateKept && i.StateRestored && strings.Contains(i.Message, "its process had to be killed; its variables are as they were before the call"),
			"%+v", i)
		wantOut(t, run(t, m, "b"), "a b")
	})
}

func TestAStateThatCanNotBeCopiedIsToldBeforeAndAfter(t *testing.T) {
	m := surviving(t, remembers(), nil)
	run(t, m, "a")
	r := run(t, m, "2 threads")
	wantState(t, r, "", false)
	const news = "if a later call crashes, the variables can't be brought back: 2 Python threads are running"
	expect(t, notes(r) == news, "%q", r.Notes)
	l := list(t, m)[0]
	expect(t, !l.Recoverable && l.Obstacle == "2 Python threads are running", "%+v", l)
	r = run(t, m, "3 threads")
	wantState(t, r, "", false)
	expect(t, len(r.Notes) == 0, "told twice: %q", r.Notes)
	r = run(t, m, "crash")
	wantState(t, r, "lost", true) // a fresh interpreter has nothing to lose
	wantNotes(t, r, "could not be brought back: 3 Python threads are running")
	r = run(t, m, "b")
	wantState(t, r, "", true)
	wantOut(t, r, "b")
}

func TestAFailingCopyFailsNoCall(t *testing.T) {
	for name, fault := range map[string]error{
		"fork failed: Resource temporarily unavailable":         &ForkError{Reason: "fork failed: Resource temporarily unavailable"},
		"it could not be copied: the frames' socket is not one": errors.New("the frames' socket is not one"),
	} {
		m, f := survivors(t, nil)
		run(t, m, "a")
		list(t, m)
		f.forking = func(context.Context, *fakeWorker, Purpose) error { return fault }
		wantState(t, run(t, m, "b"), "", true) // as far as the worker knew
		l := list(t, m)[0]
		expect(t, !l.Recoverable && l.Obstacle == name, "%+v", l)
		r := run(t, m, "crash")
		wantState(t, r, "lost", true)
		wantNotes(t, r, "could not be brought back: "+name)
	}
}

func TestACopyThatHangsDelaysTheNextCallByItsBoundOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		f.forking = func(ctx context.Context, _ *fakeWorker, _ Purpose) error { <-ctx.Done(); return ctx.Err() }
		m := surviving(t, f, nil)
		began := time.Now()
		run(t, m, "a")
		wantTook(t, began, 0)
		// A call that is to answer at once waits for it: nothing else runs.
		r := mustRun(t, m, RunRequest{Code: "b", Wait: -1})
		if r.Status == StatusRunning {
			var err error
			if r, err = m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 0}); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, r.Status == StatusOK && r.Execution == 2, "%+v", r)
		wantTook(t, began, checkpointTime)
		began = time.Now()
		all, err := m.List(t.Context(), me)
		expect(t, err == nil && !all[0].Recoverable && all[0].Status == "running", "%+v %v", all, err)
		wantTook(t, began, listPatience)
	})
}

func TestTheQueueDoesNotCountOurOwnWork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		f.forking = func(context.Context, *fakeWorker, Purpose) error { time.Sleep(time.Second); return nil }
		m := surviving(t, f, func(o *Options) { o.Queue = 0 })
		for i := range 3 {
			r := mustRun(t, m, RunRequest{Code: "a"})
			expect(t, r.Execution == i+1, "%+v", r)
		}
	})
}

func TestADeadUnderstudyIsReplacedBeforeTheNextCall(t *testing.T) {
	m, f := survivors(t, nil)
	run(t, m, "a")
	list(t, m) // the copy has been made now
	all, _ := f.copies()
	all[0].die()
	l := list(t, m)[0]
	expect(t, !l.Recoverable && strings.Contains(l.Obstacle, "ended from outside"), "%+v", l)
	wantState(t, run(t, m, "crash"), "restored", true)
	wantOut(t, run(t, m, "b"), "a b")
}

func TestACopyThatDoesNotWakeMeansALoss(t *testing.T) {
	for name, test := range map[string]struct {
		wake func(context.Context, *fakeUnderstudy) error
		want string
		took time.Duration
	}{
		"fails": {func(context.Context, *fakeUnderstudy) error { return errors.New("its pipes are gone") }, "their copy did not wake: its pipes are gone", 0},
		"hangs": {wakesNever, "their copy did not wake within 10 seconds", wakeTime},
		"dies":  {func(_ context.Context, u *fakeUnderstudy) error { u.die(); return nil }, "their copy did not wake: it has ended", 0},
	} {
		t.Run(name, func(t *testing.T) {
			survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
				run(t, m, "a")
				list(t, m)
				f.waking = test.wake
				began := time.Now()
				r := run(t, m, "crash")
				wantState(t, r, "lost", true)
				took := time.Since(began)
				expect(t, took == test.took && strings.Contains(notes(r), "could not be brought back: "+test.want), "after %s: %q", took, r.Notes)
				f.waking = nil
				wantOut(t, run(t, m, "b"), "b")
				_, err := m.Undo(t.Context(), me, "")
				if err != nil { // back to the fresh interpreter
					t.Error(err)
				}
			})
		})
	}
}

func TestDeathBetweenCallsIsUndone(t *testing.T) {
	m, f := survivors(t, nil)
	run(t, m, "a")
	kill(t, m, f)
	r := run(t, m, "b")
	wantState(t, r, "restored", true)
	expect(t, r.Stdout == "a b" && r.RestartedBeforeRun && strings.Contains(r.RestartReason, "between two calls: killed by SIGKILL"), "%+v", r)
	kill(t, m, f)
	v, _, err := m.Variables(t.Context(), me, "")
	expect(t, err == nil && len(v.Variables) != 0, "%v %v", v, err)
	r = run(t, m, "crash") // after two deaths
	wantState(t, r, "restored", true)
	wantOut(t, run(t, m, "c"), "a b c")
}

func TestALossThatNobodyWasToldOfIsToldWithTheNextCrash(t *testing.T) {
	m, f := survivors(t, nil)
	run(t, m, "1 threads")
	kill(t, m, f)
	_, _, err := m.Variables(t.Context(), me, "")
	expect(t, CodeOf(err) == CodeStart && strings.Contains(err.Error(), "variables are lost"), "%+v", err)
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	expect(t, strings.Contains(notes(r), "had been lost before: the interpreter's process ended between two calls: killed by SIGKILL") &&
		strings.Contains(notes(r), "could not be brought back: 1 Python threads are running"),
		"%q", r.Notes)
}

func TestTheSecondTryOfACrashHasTheVariablesToo(t *testing.T) {
	m, f := survivors(t, func(o *Options) { o.RerunAfterCrash = true })
	run(t, m, "a")
	r := run(t, m, "crash")
	wantState(t, r, "restored", true)
	wantNotes(t, r, "was run once more (--rerun-after-crash)")
	expect(t, r.Stdout == "before\nbefore\n" && len(f.started()) == 3, "%d workers, %+v", len(f.started()), r)
	wantOut(t, run(t, m, "b"), "a b")
}

func TestResetAndRestartLetGoOfAllStates(t *testing.T) {
	m, f := survivors(t, func(o *Options) { o.History = 3 })
	runs(t, m, "a", "b", "c")
	list(t, m)
	if _, asleep := f.copies(); asleep != 3 {
		t.Fatalf("%d copies", asleep)
	}
	r := mustRun(t, m, RunRequest{Code: "d", Reset: true})
	wantState(t, r, "", true) // it was asked for, and is no accident
	wantRun(t, r, 4, "d")
	expect(t, f.started()[0].closed, "the worker of before the reset lives")
	list(t, m)
	_, asleep := f.copies()
	expect(t, asleep == 1, "%d copies", asleep)
	expect(t, restart(t, m).ID == r.InterpreterID, "another was started")
	_, asleep = f.copies()
	expect(t, asleep == 0, "%d copies", asleep)
	wantCode(t, errOf(m.Undo(t.Context(), me, "")), CodeInvalid, "nothing to undo")
}

// TestDeleteAndRestartDuringAWake end what a crash has begun.
func TestDeleteAndRestartDuringAWake(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Manager, string) error{
		"delete": func(t *testing.T, m *Manager, id string) error { return m.Delete(t.Context(), me, id) },
		"restart": func(t *testing.T, m *Manager, id string) error {
			_, err := m.Restart(t.Context(), me, id)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
				id := run(t, m, "a").InterpreterID
				list(t, m)
				f.waking = wakesNever
				answers := make(chan *Result, 1)
				go func() {
					r, _ := m.Run(t.Context(), me, RunRequest{Code: "crash"})
					answers <- r
				}()
				synctest.Wait()
				began := time.Now()
				must(t, end(t, m, id))
				wantTook(t, began, 0)
				r := <-answers
				expect(t, r != nil && r.Status == StatusCrashed && !*r.StateRestored && r.InterpreterRestarted == (name == "restart"), "%+v", r)
				_, asleep := f.copies()
				expect(t, asleep == 0, "%d copies", asleep)
			})
		})
	}
}

// TestEndWhileACopyIsMade has the copy come when nobody wants it any more.
func TestEndWhileACopyIsMade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		f.forking = func(context.Context, *fakeWorker, Purpose) error { time.Sleep(time.Second); return nil }
		m := surviving(t, f, nil)
		id := run(t, m, "a").InterpreterID
		remove(t, m, id)
		all, asleep := f.copies()
		expect(t, len(all) == 1 && asleep == 0, "%d of %d copies sleep on", asleep, len(all))
	})
}

func TestCloseDismissesEveryCopy(t *testing.T) {
	m, f := survivors(t, func(o *Options) { o.History, o.MaxSessions = 2, 20 })
	for range 10 {
		id := mustCreate(t, m).ID
		for _, code := range []string{"a", "b", "c", "d"} {
			mustRun(t, m, RunRequest{Code: code, InterpreterID: id})
		}
	}
	list(t, m)
	all, asleep := f.copies()
	expect(t, len(all) == 40 && asleep == 30, "%d of %d copies sleep", asleep, len(all))
	m.Close(t.Context())
	_, asleep = f.copies()
	expect(t, asleep == 0, "%d copies sleep on", asleep)
}

func TestMemoryOfTheProcessesTogether(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runs(t, m, "a", "b")
		l := list(t, m)[0]
		want := fmt.Sprint(100<<20, (20+5+5)<<20, (5+5)<<20, 85<<20) // of the lead; of all three; of the copies; shared
		got := fmt.Sprint(l.Memory, l.Private, l.Copies, l.Shared)
		expect(t, got == want, "got %s, want %s", got, want)
	})
}

// TestWhatFailsIsForetold: after a copy that nothing stood against has failed,
// the next record does not promise another.
func TestWhatFailsIsForetold(t *testing.T) {
	m, f := survivors(t, nil)
	f.forking = func(context.Context, *fakeWorker, Purpose) error {
		return &ForkError{Reason: "fork failed: Resource temporarily unavailable"}
	}
	wantState(t, run(t, m, "a"), "", true) // as far as anybody knew
	r := run(t, m, "b")
	wantState(t, r, "", false)
	wantNotes(t, r, "the variables can't be brought back: fork failed: Resource temporarily unavailable")
	list(t, m) // waits until the copy has failed
	f.forking = nil
	wantState(t, run(t, m, "c"), "", false)
	list(t, m)
	wantState(t, run(t, m, "d"), "", true)
}
