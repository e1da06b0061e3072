package sessions

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// burst runs a test of sessions whose copies take 5 ms each, of a fifth of the time.
func burst(t *testing.T, change func(*Options), test func(*testing.T, *Manager, *fakeStarter)) {
	t.Helper()
	f := remembers()
	f.forking = func(context.Context, *fakeWorker, Purpose) error {
		time.Sleep(5 * time.Millisecond)
		return nil
	}
	survive(t, f, func(o *Options) {
		o.CopyShare = 0.2
		if change != nil {
			change(o)
		}
	}, test)
}

func TestACrashInABurstCostsTheCallsSinceTheLastCopy(t *testing.T) {
	for _, history := range []int{0, 1, 3} {
		burst(t, func(o *Options) { o.History = history }, func(t *testing.T, m *Manager, f *fakeStarter) {
			for _, code := range []string{"a", "b", "c", "d"} {
				wantState(t, run(t, m, code), "", true)
			}
			r := run(t, m, "crash")
			wantState(t, r, "lost", true)
			const want = "what executions 2 to 4 did to the variables could not be brought back: calls came faster than copies are made (--copy-share)"
			expect(t, r.StateBefore == 2 && strings.Contains(notes(r), want), "history %d: %d %q", history, r.StateBefore, r.Notes)
			for range 3 { // what was brought back has another copy at once
				wantState(t, run(t, m, "crash"), "restored", true)
			}
			r = run(t, m, "e")
			expect(t, r.Stdout == "a e", "history %d: %+v", history, r)
		})
	}
}

func TestABurstEndsWithACopy(t *testing.T) {
	for name, pause := range map[string]func(*testing.T, *Manager){
		"a quiet moment": func(*testing.T, *Manager) { time.Sleep(20 * time.Millisecond) },
		"a listing":      func(t *testing.T, m *Manager) { list(t, m) },
	} {
		burst(t, nil, func(t *testing.T, m *Manager, f *fakeStarter) {
			runs(t, m, "a", "b", "c")
			all, _ := f.copies()
			expect(t, len(all) == 1, "%s: %d copies before it", name, len(all))
			pause(t, m)
			synctest.Wait()
			l := list(t, m)[0]
			expect(t, l.Recoverable && l.Obstacle == "", "%s: %+v", name, l)
			all, asleep := f.copies()
			expect(t, len(all) == 2 && asleep == 2, "%s: %d copies after it, %d asleep", name, len(all), asleep)
			wantState(t, run(t, m, "crash"), "restored", true)
			r := run(t, m, "d")
			expect(t, r.Stdout == "a b c d", "%s: %+v", name, r)
		})
	}
}

// TestCopiesTakeTheirShare of the time, however many calls there are.
func TestCopiesTakeTheirShare(t *testing.T) {
	for share, want := range map[float64]int{0.2: 4, 0.5: 10, 1: 100} {
		burst(t, func(o *Options) { o.CopyShare = share }, func(t *testing.T, m *Manager, f *fakeStarter) {
			began := time.Now()
			calls := 0
			for calls < 100 && (share == 1 || time.Since(began) < 100*time.Millisecond) {
				run(t, m, "a")
				calls++
				if share < 1 {
					time.Sleep(time.Millisecond)
				}
			}
			list(t, m)
			all, _ := f.copies()
			expect(t, len(all) >= want && len(all) <= want+1, "share %g: %d copies of %d calls in %s", share, len(all), calls, time.Since(began))
		})
	}
}

// TestUndoAfterABurst is exact, or refused with the nearest state.
func TestUndoAfterABurst(t *testing.T) {
	burst(t, nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runs(t, m, "a", "b")
		wantUndone(t, m, 2)
		runs(t, m, "c", "d")
		const refusal = "execution 4 can't be undone: the variables as they were before it can't be brought back: calls came faster than copies are made (--copy-share); the nearest state that is kept is that after execution 1"
		undoRefused(t, m, CodeInvalid, refusal)
		list(t, m)
		undoRefused(t, m, CodeInvalid, refusal)
		run(t, m, "e")
		u := undo(t, m)
		expect(t, u.Execution == 5 && strings.Contains(u.Message, "There is no earlier state to undo to"), "%+v", u)
		wantOut(t, run(t, m, "f"), "a c d f")
	})
}

// TestAStandInThatDiesIsReplaced by a copy of the state that it stood in for, before
// anything else runs.
func TestAStandInThatDiesIsReplaced(t *testing.T) {
	burst(t, nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		runs(t, m, "a", "b")
		all, _ := f.copies()
		all[0].die()
		run(t, m, "c")
		r := run(t, m, "crash")
		expect(t, r.StateBefore == 3, "%d %q", r.StateBefore, r.Notes)
		wantOut(t, run(t, m, "d"), "a b d")
	})
}

// TestACopyThatFailedIsTriedAgainAtOnce, however long the attempt took.
func TestACopyThatFailedIsTriedAgainAtOnce(t *testing.T) {
	burst(t, nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		var fails atomic.Bool
		works := f.forking
		f.forking = func(ctx context.Context, w *fakeWorker, p Purpose) error {
			if fails.Swap(false) {
				time.Sleep(time.Second)
				return errors.New("no room")
			}
			return works(ctx, w, p)
		}
		run(t, m, "a")
		time.Sleep(time.Second)
		fails.Store(true)
		runs(t, m, "b", "c")
		wantState(t, run(t, m, "crash"), "restored", true)
		wantOut(t, run(t, m, "d"), "a b c d")
	})
}

// TestAnIdleSessionHasNoCopyOfItsState until the next call comes, before its code runs.
func TestAnIdleSessionHasNoCopyOfItsState(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.CopyIdle = 30 * time.Second }, func(t *testing.T, m *Manager, f *fakeStarter) {
		asleep := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			_, asleep := f.copies()
			expect(t, asleep == want, "%d copies are asleep, not %d", asleep, want)
		}
		runs(t, m, "a", "b")
		asleep(29*time.Second, 2)
		run(t, m, "c")
		asleep(29*time.Second, 2)
		l := list(t, m)[0]
		expect(t, !l.Uncopied && l.Recoverable, "%+v", l)
		asleep(2*time.Second, 1)
		l = list(t, m)[0]
		expect(t, l.Uncopied && l.Recoverable && l.Obstacle == "" && l.Ended == "", "%+v", l)
		wantState(t, run(t, m, "crash"), "restored", true)
		asleep(31*time.Second, 1)
		undo(t, m) // of the crash, which left nothing
		wantUndone(t, m, 3)
		wantOut(t, run(t, m, "d"), "a b d")
	})
}

// TestTheListingTellsOfADeadProcess, and what is left; while a session is idle no copy of its
// present state is kept.
func TestTheListingTellsOfADeadProcess(t *testing.T) {
	for _, test := range []struct {
		codes []string
		idle  time.Duration
		want  string
		state string
	}{
		{[]string{"a"}, 0, "the next run brings its variables back", "restored"},
		{[]string{"2 threads"}, 0, "its variables are lost: 2 Python threads are running", "lost"},
		{[]string{"a"}, time.Minute, "its variables are lost: while it is idle no copy of them is kept (--copy-idle)", "lost"},
		{[]string{"a", "b"}, time.Minute, "the next run brings its variables back as they were before execution 2; execution 2 is lost: while it is idle no copy of them is kept (--copy-idle)", "lost"},
	} {
		survive(t, remembers(), func(o *Options) { o.CopyIdle = 30 * time.Second }, func(t *testing.T, m *Manager, f *fakeStarter) {
			runs(t, m, test.codes...)
			time.Sleep(test.idle)
			kill(t, m, f)
			l := list(t, m)[0]
			expect(t, l.Ended == "its process has ended; "+test.want && l.PID == 0 && l.Python == "" && l.Memory == 0 && l.Private == 0, "%+v", l)
			expect(t, l.Recoverable == (test.state == "restored") && !l.Uncopied, "%+v", l)
			wantState(t, run(t, m, "c"), test.state, true)
			l = list(t, m)[0]
			expect(t, l.Ended == "" && l.PID != 0, "%+v", l)
		})
	}
}

// TestTheDeadKeepTheirCopies, however late the next call comes and whoever looks before it.
func TestTheDeadKeepTheirCopies(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		code   string
		state  string
		stdout string
	}{
		"idle":                 {func(o *Options) { o.CopyIdle = 30 * time.Second }, "a", "restored", "a z"},
		"put off, no history":  {func(o *Options) { o.History = 0 }, "abc", "lost", "a z"},
		"put off, and history": {func(o *Options) { o.History = 1 }, "abc", "lost", "a z"},
	} {
		burst(t, test.change, func(t *testing.T, m *Manager, f *fakeStarter) {
			for _, code := range strings.Split(test.code, "") {
				run(t, m, code)
			}
			time.Sleep(10 * time.Millisecond) // until a is copied, and before c is
			f.lead().die("killed by SIGKILL")
			list(t, m)
			time.Sleep(time.Minute)
			synctest.Wait()
			r := run(t, m, "z")
			wantState(t, r, test.state, true)
			expect(t, r.Stdout == test.stdout, "%s: %q: %q", name, r.Stdout, r.Notes)
		})
	}
}

// TestCodeThatRunsOnceMoreFindsItsState, not an older one.
func TestCodeThatRunsOnceMoreFindsItsState(t *testing.T) {
	burst(t, func(o *Options) { o.RerunAfterCrash = true }, func(t *testing.T, m *Manager, f *fakeStarter) {
		runs(t, m, "a", "b", "c")
		wantState(t, run(t, m, "crash"), "restored", true)
	})
}

// TestASlowCopyPutsOffTheNextForAFifthOfASecond, no longer: then nobody calls.
func TestASlowCopyPutsOffTheNextForAFifthOfASecond(t *testing.T) {
	burst(t, nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		f.forking = func(context.Context, *fakeWorker, Purpose) error {
			time.Sleep(3 * time.Second)
			return nil
		}
		runs(t, m, "a", "b")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		wantState(t, run(t, m, "crash"), "restored", true)
	})
}

// TestTasksOfTheEventLoopKeepTheirCopy: it is what they are brought back from.
func TestTasksOfTheEventLoopKeepTheirCopy(t *testing.T) {
	survive(t, lives(), func(o *Options) { o.CopyIdle, o.CopyShare = 30*time.Second, 0.2 }, func(t *testing.T, m *Manager, f *fakeStarter) {
		run(t, m, "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		_, asleep := f.copies()
		expect(t, asleep == 1, "%d copies are asleep", asleep)
	})
}

func (w *fakeWorker) prints(pieces ...Piece) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.between = append(w.between, pieces...)
}

func TestOutputBetweenCallsIsToldApart(t *testing.T) {
	t.Parallel()
	f := echoes()
	var entries recorder
	m := newTestManager(t, f, func(o *Options) { o.Recorder = &entries })
	run(t, m, "first")
	f.lead().prints(Piece{Stream: Stdout, Text: []byte("caf\xc3")}, Piece{Stream: Stderr, Text: []byte("oops\n")}, Piece{Stream: Stdout, Text: []byte("\xa9\n")})
	r := run(t, m, "second")
	expect(t, r.Between == "cafoops\né\n" && r.Stdout == "second", "got %q and %q", r.Between, r.Stdout)
	printed := string(entries[1].Printed[Stdout].Text)
	want := "[between calls]\ncafé\n[this call]\nsecond"
	expect(t, printed == want, "the whole output is %q, want %q", printed, want)
	expect(t, entries[1].Result.Between == r.Between, "recorded is %q", entries[1].Result.Between)
	r = run(t, m, "third")
	expect(t, r.Between == "", "it is told twice: %q", r.Between)
}

func TestWaitHandsOutWhatWasPrintedBetweenCalls(t *testing.T) {
	t.Parallel()
	f := echoes()
	m := newTestManager(t, f, func(o *Options) { o.OutputLimit = 200 })
	run(t, m, "first")
	f.lead().prints(Piece{Stream: Stdout, Text: []byte(strings.Repeat("x", 1000))})
	l := list(t, m)[0]
	expect(t, l.Printed == 1000, "the listing says %d bytes", l.Printed)
	r, err := m.Await(t.Context(), me, WaitRequest{})
	expect(t, err == nil && strings.HasPrefix(r.Between, "xxx") && len(r.Between) <= 300 && r.Execution == 1, "got %+v, %v", r, err)
	_, err = m.Await(t.Context(), me, WaitRequest{})
	expect(t, err != nil && strings.Contains(err.Error(), "nothing is running"), "the second wait says %v", err)
}

// lives is a starter whose code leaves tasks behind that go on.
func lives() *fakeStarter {
	return remembers().around(func(run runner, w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		outcome, err := run(w, r, sink)
		outcome.Tasks = 2
		return outcome, err
	})
}

func TestAStateThatGoesOnIsCopiedAnewAsTheNextCallComes(t *testing.T) {
	t.Parallel()
	f := lives()
	m := surviving(t, f, nil)
	r := run(t, m, "a")
	expect(t, r.Tasks == 2, "the record says %d tasks", r.Tasks)
	list(t, m) // once the copy is made
	f.lead().remember("tick")
	r = run(t, m, "crash")
	expect(t, r.StateRestored != nil && *r.StateRestored, "got %+v", r)
	wantOut(t, run(t, m, "b"), "a tick b")
}

func TestTasksThatLetNothingElseRunLoseTheirProcess(t *testing.T) {
	survive(t, lives(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		run(t, m, "a")
		list(t, m) // once the copy is made
		hogged := f.lead()
		f.forking = func(ctx context.Context, w *fakeWorker, _ Purpose) error {
			if w == hogged {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		began := time.Now()
		r := run(t, m, "b")
		expect(t, r.Stdout == "a b" && time.Since(began) == checkpointTime, "got %q after %v", r.Stdout, time.Since(began))
		notes := strings.Join(r.Notes, " ")
		expect(t, strings.Contains(notes, "would let nothing else run"), "the notes are %q", notes)
	})
}

// TestAnOlderStateComesBackWhereThePresentOneHasNoCopy, and the answer says
// which, and undo goes on from there.
func TestAnOlderStateComesBackWhereThePresentOneHasNoCopy(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.History = 3 })
	runs(t, m, "a", "b", "1 threads", "2 threads")
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	const want = "what executions 3 and 4 did to the variables could not be brought back: 2 Python threads are running"
	expect(t, r.StateBefore == 3 && strings.Contains(notes(r), want) && strings.Contains(notes(r), "a note of waking"), "%d %q", r.StateBefore, r.Notes)
	wantNothingDone(t, m, "execution 5 crashed and executions 3 and 4 are lost with it, so there is nothing of them to undo. Call undo again to undo execution 2")
	r = run(t, m, "c")
	expect(t, r.Stdout == "a b c" && r.StateBefore == 0, "%+v", r)
	for _, execution := range []int{6, 2} {
		u := undo(t, m)
		expect(t, u.Execution == execution, "%+v", u)
	}
	wantOut(t, run(t, m, "d"), "a d")
}

func TestAnOlderStateComesBackWhereTheCopyDoesNotWake(t *testing.T) {
	m, f := survivors(t, func(o *Options) { o.History = 3 })
	runs(t, m, "a", "b", "c", "d")
	list(t, m)
	f.waking = failsBeyond(2)
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	expect(t, r.StateBefore == 3 && strings.Contains(notes(r), "what executions 3 and 4 did to the variables could not be brought back: their copy did not wake: its pipes are gone"),
		"%d %q", r.StateBefore, r.Notes)
	wantOut(t, run(t, m, "e"), "a b e")
}

// TestAnOlderStateAfterADeathBetweenTwoCalls: the listing foretells it, and the
// next answers tell it.
func TestAnOlderStateAfterADeathBetweenTwoCalls(t *testing.T) {
	m, f := survivors(t, nil)
	runs(t, m, "a", "2 threads")
	kill(t, m, f)
	l := list(t, m)[0]
	want := "its process has ended; the next run brings its variables back as they were before execution 2; execution 2 is lost: 2 Python threads are running"
	expect(t, l.Ended == want && l.PID == 0 && l.Memory == 0, "%+v", l)
	_, told, err := m.Variables(t.Context(), me, "")
	expect(t, err == nil && len(told) == 1 && strings.HasSuffix(told[0], "killed by SIGKILL; the variables are as they were before execution 2; execution 2 is lost"),
		"%q %v", told, err)
	r := run(t, m, "crash")
	wantState(t, r, "lost", true)
	expect(t, r.StateBefore == 2 && strings.Contains(notes(r), "variables had been lost before"), "%d %q", r.StateBefore, r.Notes)
	r = run(t, m, "b")
	expect(t, r.Stdout == "a b" && r.StateRestored == nil, "%+v", r)
}

// TestTheFallBackOfAnUndo: neither the state to go back to nor the present one
// wakes.
func TestTheFallBackOfAnUndo(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.plays("A a", "A b", "A c")
		list(t, s.manager)
		s.starter.waking = failsBeyond(1)
		undoRefused(t, s.manager, CodeStart, "execution 3 could not be undone", "could not be brought back", "the variables are as they were before execution 2; executions 2 and 3 are lost")
		told := s.diary.told()
		same(t, "A stands A1", told[len(told)-1])
		wantOut(t, run(t, s.manager, "d"), "a d")
	})
}

func TestAnInterruptThatKillsSaysWhichStateIsBack(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		runs(t, m, "a", "2 threads")
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		i := interrupt(t, m)
		expect(t, !i.StateKept && !i.StateRestored && strings.Contains(i.Message, "had to be killed; the variables are as they were before execution 2"),
			"%+v", i)
	})
}

// TestADeathThatVariablesFinds is one that nobody had noticed before.
func TestADeathThatVariablesFinds(t *testing.T) {
	m, f := survivors(t, nil)
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
	expect(t, err == nil && len(variables.Variables) == 1 && len(told) == 1 && strings.HasSuffix(told[0], "its variables are back"), "%v %q %v", variables, told, err)
	wantState(t, run(t, m, "b"), "restored", true)
}

func TestCopiesAreRarerWhereManyAreMadeAtOnce(t *testing.T) {
	burst(t, nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		s := m.sessions[run(t, m, "a").InterpreterID]
		began := time.Now()
		time.Sleep(5 * time.Millisecond)
		for atOnce, want := range map[int]time.Duration{
			0: 20 * time.Millisecond, 1: 20 * time.Millisecond,
			10 * runtime.GOMAXPROCS(0):   200 * time.Millisecond,
			1000 * runtime.GOMAXPROCS(0): longestPutOff,
		} {
			s.options.tally.copying.Store(int64(atOnce))
			pause := s.copyPause(began)
			expect(t, pause == want, "%d at once: the next may come after %s, not %s", atOnce, pause, want)
		}
		s.options.tally.copying.Store(0)
	})
}
