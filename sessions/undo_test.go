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
	must(t, err)
	return u
}

func wantUndone(t *testing.T, m *Manager, execution int) {
	t.Helper()
	u := undo(t, m)
	expect(t, u.Execution == execution, "%+v", u)
}

// undoRefused wants an undo refused with these words.
func undoRefused(t *testing.T, m *Manager, code Code, words ...string) {
	t.Helper()
	wantCode(t, errOf(m.Undo(t.Context(), me, "")), code, words...)
}

func TestUndoGoesBackOnce(t *testing.T) {
	m := surviving(t, remembers(), nil)
	runs(t, m, "a", "b", "c")
	u := undo(t, m)
	expect(t, u.Execution == 3 && u.Left == 0 && slices.Equal(u.Notes, []string{"a note of waking"}), "%+v", u)
	for _, want := range []string{"execution 3 is undone", "as they were before it", "There is no earlier state to undo to (--history keeps 1).", "Files and what went over the network are not undone; child processes are ended"} {
		expect(t, strings.Contains(u.Message, want), "%q says nothing of %q", u.Message, want)
	}
	undoRefused(t, m, CodeInvalid, "there is no earlier state to undo to (--history keeps 1). Instead, assign the earlier values")
	r := run(t, m, "d")
	expect(t, r.Stdout == "a b d" && r.Execution == 4 && r.StateRestored == nil, "%+v", r)
	wantUndone(t, m, 4)
	wantState(t, run(t, m, "crash"), "restored", true)
	wantOut(t, run(t, m, "e"), "a b e")
}

func TestUndoTwiceWithAHistoryOfTwo(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.History = 2 })
	runs(t, m, "a", "b", "c")
	u := undo(t, m)
	expect(t, u.Execution == 3 && u.Left == 1 && strings.Contains(u.Message, "More can be undone, the latest first: execution 2"), "%+v", u)
	u = undo(t, m)
	expect(t, u.Execution == 2 && u.Left == 0, "%+v", u)
	undoRefused(t, m, CodeInvalid, "there is no earlier state to undo to (--history keeps 2)")
	wantOut(t, run(t, m, "d"), "a d")
}

func TestUndoToTheBeginning(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.History = 9 })
	runs(t, m, "a", "b")
	undo(t, m)
	u := undo(t, m)
	expect(t, u.Execution == 1 && u.Left == 0 && strings.Contains(u.Message, "there are no variables, as before it. There is nothing more to undo"), "%+v", u)
	undoRefused(t, m, CodeInvalid, "nothing to undo", "since the interpreter was made")
	wantState(t, run(t, m, "crash"), "restored", true)
	wantRun(t, run(t, m, "c"), 4, "c")
}

func TestAnUndoneStartThatFailsIsTriedAgain(t *testing.T) {
	f := remembers()
	start := f.start
	m := surviving(t, f, nil)
	run(t, m, "a")
	f.start = func(Spec) (*fakeWorker, error) { return nil, errors.New("no memory") }
	u := undo(t, m)
	expect(t, u.Execution == 1 && strings.Contains(strings.Join(u.Notes, ""), "no memory; the next call tries again"), "%+v", u)
	f.start = start
	r := run(t, m, "b")
	expect(t, r.Stdout == "b" && !r.InterpreterRestarted, "%+v", r)
}

// wantNothingDone has an undo say so in these words and do nothing.
func wantNothingDone(t *testing.T, m *Manager, words string) {
	t.Helper()
	u := undo(t, m)
	expect(t, u.Execution == 0 && u.Message == words, "%+v", u)
}

// TestUndoAfterACrash undoes what ran before the crash, which had no effect,
// when it is called a second time.
func TestUndoAfterACrash(t *testing.T) {
	m := surviving(t, remembers(), nil)
	runs(t, m, "a", "b", "crash")
	run(t, m, "crash")
	wantNothingDone(t, m, "execution 4 crashed and left nothing behind, so there is nothing of it to undo. Call undo again to undo execution 2")
	wantUndone(t, m, 2)
	wantOut(t, run(t, m, "c"), "a c")
}

func TestUndoAfterAKill(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		mustRun(t, m, RunRequest{Code: "hang", Timeout: time.Second})
		wantNothingDone(t, m, "execution 1 had to be killed and left nothing behind, so there is nothing of it to undo. There is nothing more to undo")
		undoRefused(t, m, CodeInvalid, "nothing has run since")
	})
}

// TestACrashIsForgottenWithWhatCameAfter: only the last execution is told of.
func TestACrashIsForgottenWithWhatCameAfter(t *testing.T) {
	m := surviving(t, remembers(), nil)
	runs(t, m, "a", "crash", "b")
	wantUndone(t, m, 3)
	run(t, m, "crash")
	restart(t, m)
	undoRefused(t, m, CodeInvalid, "nothing has run since")
}

func TestUndoAfterALossSaysSo(t *testing.T) {
	m := surviving(t, remembers(), nil)
	runs(t, m, "1 threads", "2 threads")
	wantState(t, run(t, m, "crash"), "lost", true)
	_, err := m.Undo(t.Context(), me, "")
	expect(t, CodeOf(err) == CodeInvalid && err.Error() == "nothing to undo: the interpreter was started afresh after a crash", "%+v", err)
	run(t, m, "a")
	wantUndone(t, m, 4)
}

func TestUndoOfAnExceptionAndOfADeadInterpreter(t *testing.T) {
	m, f := survivors(t, nil)
	runs(t, m, "a", "raise")
	kill(t, m, f)
	wantUndone(t, m, 2)
	r := run(t, m, "b")
	expect(t, r.Stdout == "a b" && !r.InterpreterRestarted, "%+v", r)
}

func TestUndoOfACallThatLeftNoCheckpoint(t *testing.T) {
	m := surviving(t, remembers(), nil)
	runs(t, m, "a", "2 threads")
	wantUndone(t, m, 2)
	wantOut(t, run(t, m, "2 threads"), "a 2 threads")
	wantOut(t, run(t, m, "b"), "a 2 threads b")
	undoRefused(t, m, CodeInvalid, "execution 4 can't be undone", "2 Python threads are running")
}

func TestUndoIsRefusedWhileACallRuns(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
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

func TestUndoNeedsHistory(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.History = 0 })
	run(t, m, "a")
	list(t, m)
	undoRefused(t, m, CodeInvalid, "there is no earlier state to undo to (--history is 0)")
	wantState(t, run(t, m, "crash"), "restored", true) // which needs none
}

func TestAnUndoThatFailsKeepsTheVariables(t *testing.T) {
	m, f := survivors(t, nil)
	runs(t, m, "a", "b")
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
	wantOut(t, run(t, m, "c"), "a b c")
	list(t, m)
	f.waking = func(context.Context, *fakeUnderstudy) error { return errors.New("gone") }
	undoRefused(t, m, CodeStart, "could not be undone", "are lost", "fresh interpreter")
	wantOut(t, run(t, m, "d"), "d")
}

// TestNobodyEndsForACopyThatDoesNotAnswer: the worker that lives goes on.
func TestNobodyEndsForACopyThatDoesNotAnswer(t *testing.T) {
	m, f := survivors(t, nil)
	runs(t, m, "a", "b")
	list(t, m)
	lead := f.lead()
	f.rousing = func(context.Context, *fakeUnderstudy) error { return errors.New("its socket is closed") }
	undoRefused(t, m, CodeStart, "execution 2 could not be undone: their copy did not wake: its socket is closed; the variables are as they were after it")
	expect(t, !hasExited(lead) && f.lead() == lead, "the worker was ended")
	wantOut(t, run(t, m, "c"), "a b c")
}

func TestDeleteDuringAnUndo(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		run(t, m, "a")
		id := run(t, m, "b").InterpreterID
		list(t, m)
		f.waking = wakesNever
		refusals := make(chan error, 1)
		go func() {
			_, err := m.Undo(t.Context(), me, id)
			refusals <- err
		}()
		synctest.Wait()
		began := time.Now()
		remove(t, m, id)
		wantCode(t, <-refusals, CodeNotFound, id)
		wantTook(t, began, 0)
	})
}

func TestADeadEarlierStateIsNotPromised(t *testing.T) {
	m, f := survivors(t, func(o *Options) { o.History = 3 })
	for i := range 3 {
		run(t, m, fmt.Sprint(i+1))
	}
	list(t, m)
	all, _ := f.copies()
	all[0].die() // after execution 1
	u := undo(t, m)
	expect(t, u.Execution == 3 && u.Left == 0 && strings.Contains(u.Message, ". Execution 2 can't be undone: the variables as they were before it can't be brought back: the process that held their copy was ended from outside"),
		"%+v", u)
	undoRefused(t, m, CodeInvalid, "execution 2 can't be undone")
}

func TestRefusedCodeLeavesNoTrace(t *testing.T) {
	starter, rules := echoes(), &rules{}
	m := newTestManager(t, starter, func(o *Options) { o.Verifier = rules })
	first := mustRun(t, m, RunRequest{Code: "x"})
	rules.answer = Errorf(CodeRefused, "line 1")
	for _, r := range []RunRequest{{Code: "y"}, {Code: "y", Reset: true}, {Kind: RunsCommand, Code: "y"}} {
		wantCode(t, errOf(m.Run(t.Context(), me, r)), CodeRefused, "line 1")
	}
	_, err := m.Run(t.Context(), Anonymous, RunRequest{Code: "y"})
	expect(t, CodeOf(err) == CodeRefused, "%+v", err)
	rules.answer = nil
	next := mustRun(t, m, RunRequest{Code: "z"})
	expect(t, next.Execution == first.Execution+1 && next.InterpreterID == first.InterpreterID && len(starter.started()) == 1,
		"execution %d follows %d; %d workers were started", next.Execution, first.Execution, len(starter.started()))
	got := rules.asked
	expect(t, len(got) == 6 && got[3].kind == RunsCommand && got[3].client == me && got[4].client == Anonymous && got[4].code == "y", "it was asked %+v", got)
	stats := m.Stats(t.Context())
	expect(t, stats.Sessions == 1, "%d sessions are left", stats.Sessions)
}

// TestWhatWasJudgedRuns: the worker gets what the Verifier judged, beside what was written,
// and is told to run nothing of what is no Python.
func TestWhatWasJudgedRuns(t *testing.T) {
	var got Request
	for _, test := range []struct {
		verifier    Verifier
		source      string
		compileOnly bool
	}{
		{&rules{answer: fmt.Errorf("%w: line 1", ErrSyntax)}, "", true},
		{&rules{judged: Judged{Source: "help(x)\n"}}, "help(x)\n", false},
		{nil, "", false},
	} {
		m := newTestManager(t, workerThat(func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
			got = r
			return Outcome{OK: true}, nil
		}), func(o *Options) { o.Verifier = test.verifier })
		run(t, m, "x?")
		expect(t, got.Code == "x?" && got.Judged.Source == test.source && got.CompileOnly == test.compileOnly, "%+v: %+v", test, got)
	}
}

func TestUploadedModulesAreVerified(t *testing.T) {
	rules := &rules{answer: Errorf(CodeRefused, "Not run: line 1")}
	m := newTestManager(t, echoes(), func(o *Options) { o.Verifier = rules })
	for _, name := range []string{"a.py", "b/c.PYW"} {
		wantCode(t, errOf(m.Upload(t.Context(), me, "", name, []byte("import os"))), CodeRefused, "was not written", "line 1")
	}
	_, err := m.Upload(t.Context(), me, "", "a.csv", []byte("import os"))
	expect(t, err == nil && len(rules.asked) == 2 && rules.asked[1].code == "import os", "%v, %+v", err, rules.asked)
	rules.answer = fmt.Errorf("%w: line 1", ErrSyntax)
	wantCode(t, errOf(m.Upload(t.Context(), me, "", "a.py", []byte("x ="))), CodeRefused, "no valid Python", "another ending")
	rules.answer = nil
	must(t, errOf(m.Upload(t.Context(), me, "", "a.py", []byte("x = 1"))))
}

type rules struct {
	answer error
	judged Judged
	asked  []struct {
		client Client
		kind   Kind
		code   string
	}
}

func (r *rules) Verify(_ context.Context, client Client, kind Kind, code string) (Judged, error) {
	r.asked = append(r.asked, struct {
		client Client
		kind   Kind
		code   string
	}{client, kind, code})
	return r.judged, r.answer
}

// visit runs code as the operator does, in the session of that name.
func visit(t *testing.T, m *Manager, code string) *Result {
	t.Helper()
	return runAs(t, m, Operator, RunRequest{Code: code, InterpreterID: seenByOperator(t, m)})
}

// seenByOperator is the key of the one session there is.
func seenByOperator(t *testing.T, m *Manager) string {
	t.Helper()
	all, err := m.List(t.Context(), Operator)
	if err != nil || len(all) != 1 || all[0].Client != me {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0].Key
}

// TestTheOperatorOwnsNothing but reaches everything.
func TestTheOperatorOwnsNothing(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		run(t, m, "a")
		r := visit(t, m, "b")
		expect(t, r.Execution == 2, "%+v", r)
		l := list(t, m)[0]
		expect(t, l.Executions == 2 && l.Default && l.Client == "" && l.Key == "", "the owner's listing: %+v", l)
		wantCode(t, errOf(m.Run(t.Context(), Operator, RunRequest{Code: "a"})), CodeInvalid, "interpreter_id is required")
		wantCode(t, errOf(m.Create(t.Context(), Operator, CreateRequest{})), CodeInvalid, "interpreter_id is required")
		_, running := m.Usage()
		expect(t, running == 0, "%d run", running)
	})
}

// TestTheOwnerHearsOfTheOperator with its next answer, once, of all that it would not
// know else.
func TestTheOwnerHearsOfTheOperator(t *testing.T) {
	survive(t, remembers(), func(o *Options) { o.MaxRetries = 2 }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		run(t, m, "a")
		for range 3 {
			r := visit(t, m, "raise")
			expect(t, r.FailuresInARow == 0 && r.Stop == "", "a person's failure counts: %+v", r)
		}
		visit(t, m, "crash")
		r := run(t, m, "b")
		got := notes(r)
		expect(t, strings.Contains(got, "a person ran executions 2 to 5 in this interpreter") && strings.Contains(got, "execution 5 crashed; its changes are undone"),
			"%q", got)
		expect(t, !r.InterpreterRestarted && r.FailuresInARow == 0, "what befell the person's run is told as this one's: %+v", r)
		got = notes(run(t, m, "c"))
		expect(t, !strings.Contains(got, "a person"), "told again: %q", got)
	})
}

// TestAnswersGoToWhoAsked: the agent's wait returns none of the operator's runs, and
// the other way round.
func TestAnswersGoToWhoAsked(t *testing.T) {
	survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		run(t, m, "a")
		key := seenByOperator(t, m)
		began, err := m.Run(t.Context(), Operator, RunRequest{Code: "b", InterpreterID: key, Wait: -1})
		if err != nil || began.Status != StatusRunning {
			t.Fatalf("%+v, %v", began, err)
		}
		wantCode(t, errOf(m.Await(t.Context(), me, WaitRequest{})), CodeInvalid, "nothing of yours is running", "a person has been running execution 2")
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "c", Wait: -1})), CodeBusy, "a person has been running execution 2", "did not run")
		time.Sleep(time.Minute)
		synctest.Wait()
		l := list(t, m)[0]
		expect(t, l.Unfetched == 0, "the agent is to fetch a person's answer: %+v", l)
		letRun(t, m, RunRequest{Code: "raise"})
		r, err := m.Await(t.Context(), Operator, WaitRequest{InterpreterID: key})
		expect(t, err == nil && r.Execution == 2, "%+v, %v", r, err)
		r = wait(t, m)
		expect(t, r.Execution == 3, "%+v", r)
		// Ctrl-C at the prompt is not for the agent's code.
		runAs(t, m, me, RunRequest{Code: "d", Wait: -1})
		i, err := m.Interrupt(t.Context(), Operator, key)
		expect(t, err == nil && !i.Stopped, "%+v, %v", i, err)
		wait(t, m)
	})
}
