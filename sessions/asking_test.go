package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// asks is a starter whose workers ask with each line of their code as the
// prompt, and print the replies. They obey interrupts.
func asks() *fakeStarter {
	return workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		for _, prompt := range strings.Split(r.Code, "\n") {
			replies := make(chan Reply, 1)
			sink.Output(Stdout, []byte(prompt))
			sink.Ask(Question{Prompt: prompt, Reply: func(r Reply) { replies <- r }})
			select {
			case reply := <-replies:
				sink.Output(Stdout, fmt.Appendln(nil, reply.Text+reply.Refusal))
			case <-w.stopped:
				return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt"}}, nil
			case <-w.exited:
				return Outcome{}, w.crash
			}
		}
		return Outcome{OK: true}, nil
	})
}

// asking runs a test with a manager of such sessions.
func asking(t *testing.T, test func(t *testing.T, m *Manager)) {
	t.Helper()
	manage(t, asks(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) { test(t, m) })
}

// person answers after a while with the prompt in capitals.
func person(after time.Duration) Asking {
	return Asking{Ask: func(ctx context.Context, asked Asked) Reply {
		select {
		case <-time.After(after):
			return Reply{Text: strings.ToUpper(asked.Prompt)}
		case <-ctx.Done():
			return Reply{Refusal: "too late"}
		}
	}}
}

var byReturn = Asking{Return: true}

// give answers as a model does, and fails the test at an error.
func give(t *testing.T, m *Manager, lines ...string) *Result {
	t.Helper()
	r, err := m.Await(t.Context(), me, WaitRequest{Lines: lines})
	must(t, err)
	return r
}

// TestTheCallerAnswers where no client can ask: nothing waits for --wait meanwhile.
func TestTheCallerAnswers(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		began := time.Now()
		r := mustRun(t, m, RunRequest{Code: "a\nb\nc"})
		expect(t, r.Status == StatusAsking && !r.Success && r.Prompt == "a" && r.Stdout == "a" && r.Question == nil, "%+v", r)
		if r, err := m.Await(t.Context(), me, WaitRequest{}); err != nil || r.Status != StatusAsking || r.Prompt != "a" || r.Stdout != "" {
			t.Errorf("a wait: %+v, %v", r, err)
		}
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "d"})), CodeBusy, `line of input at "a"`, `operation "answer"`, codeDidNotRun)
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "d", Reset: true})), CodeBusy, `"restart"`, "nothing was reset")
		l, _ := m.Show(t.Context(), me, r.InterpreterID)
		b, err := m.Brief(me, r.InterpreterID, 1)
		expect(t, l.Status == "asking" && l.Prompt == "a" && err == nil && b.Status == StatusAsking, "%+v, %+v, %v", l, b, err)
		r = give(t, m, "one")
		expect(t, r.Status == StatusAsking && r.Prompt == "b" && r.Stdout == "one\nb", "%+v", r)
		r = give(t, m, "two", "three", "four")
		expect(t, r.Status == StatusOK && r.Stdout == "two\ncthree\n" && len(r.Notes) == 1 && strings.Contains(r.Notes[0], "1 line "), "%+v", r)
		waited := time.Since(began)
		expect(t, waited <= 0, "waited for %s", waited)
		mustRun(t, m, RunRequest{Code: "a"})
		wantOut(t, give(t, m, EndOfInput), "the end of input was given\n")
	})
}

// TestAnAnswerThatNobodyTakes says what became of it.
func TestAnAnswerThatNobodyTakes(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		answer := func(client Client, id string) (*Result, error) {
			return m.Await(t.Context(), client, WaitRequest{InterpreterID: id, Lines: []string{"x"}})
		}
		r := mustRun(t, m, RunRequest{Code: "a", Timeout: time.Minute})
		wantCode(t, errOf(answer(other, r.InterpreterID)), CodeNotFound)
		wantCode(t, errOf(answer(Operator, r.InterpreterID)), CodeInvalid, "nothing asks")
		time.Sleep(time.Hour)
		if r, err := answer(me, ""); err != nil || r.Status != StatusTimeout || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "too late") {
			t.Errorf("after the limit: %+v, %v", r, err)
		}
		wantCode(t, errOf(answer(me, "")), CodeInvalid, "nothing asks", "not passed on")
		mustRun(t, m, RunRequest{Code: "a"})
		restart(t, m)
		if r = mustRun(t, m, RunRequest{Code: "a"}); r.Status != StatusAsking {
			t.Errorf("after a restart: %+v", r)
		}
		remove(t, m, r.InterpreterID)
	})
}

// TestAnAnswerGoesPastOlderResults to the code that asks.
func TestAnAnswerGoesPastOlderResults(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		mustRun(t, m, RunRequest{Code: "a"})
		interrupt(t, m)
		mustRun(t, m, RunRequest{Code: "b"})
		r := give(t, m, "x")
		expect(t, r.Execution == 2 && r.Status == StatusOK, "%+v", r)
		r, err := m.Await(t.Context(), me, WaitRequest{})
		expect(t, err == nil && r.Execution == 1, "%+v, %v", r, err)
	})
}

// TestAnAnswerToCodeThatRuns is refused: it isn't known what it would be for.
func TestAnAnswerToCodeThatRuns(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		if r := mustRun(t, m, RunRequest{Code: "slow", Wait: time.Second}); r.Status != StatusRunning {
			t.Fatalf("%+v", r)
		}
		wantCode(t, errOf(m.Await(t.Context(), me, WaitRequest{Lines: []string{"x"}})), CodeInvalid, "asks nothing now", `"wait"`)
	})
}

// TestAClientThatAsksNobody, though it said that it could: the caller is asked.
func TestAClientThatAsksNobody(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		broken := Asking{Ask: func(context.Context, Asked) Reply { return Reply{Unasked: true} }}
		r := mustRun(t, m, RunRequest{Code: "a", Asking: broken})
		if r.Status != StatusAsking || r.PersonAsked || r.Stdout != "a" {
			t.Fatalf("%+v", r)
		}
		wantOut(t, give(t, m, "x"), "x\n")
	})
}

// TestAPersonMayTakeLongerThanTheCall, who is not asked twice.
func TestAPersonMayTakeLongerThanTheCall(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		r := mustRun(t, m, RunRequest{Code: "a", Asking: person(time.Minute), Wait: time.Second})
		expect(t, r.Status == StatusAsking && r.PersonAsked && r.Stdout == "a", "%+v", r)
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "b", Wait: time.Second})), CodeBusy, `waits for a line of input at "a"`)
		again := Asking{Ask: func(context.Context, Asked) Reply { t.Error("asked twice"); return Reply{} }}
		r, err := m.Await(t.Context(), me, WaitRequest{Asking: again, Wait: 2 * time.Minute})
		expect(t, err == nil && r.Stdout == "A\n" && r.Status == StatusOK, "%+v, %v", r, err)
		wantOut(t, mustRun(t, m, RunRequest{Code: "a\nb", Asking: person(time.Second)}), "aA\nbB\n")
	})
}

// TestAnAnswerThatIsLost: the next call asks again, after a while, or at once when the
// client that was asked has left.
func TestAnAnswerThatIsLost(t *testing.T) {
	for client, lose := range map[Client]func(context.Context, *Manager){
		me:    func(context.Context, *Manager) { time.Sleep(askAgain) },
		other: func(ctx context.Context, m *Manager) { m.Leave(ctx, me, false) },
	} {
		asking(t, func(t *testing.T, m *Manager) {
			r := mustRun(t, m, RunRequest{Code: "a", Asking: person(time.Hour - 1), Wait: time.Second})
			lose(t.Context(), m)
			r, err := m.Await(t.Context(), client, WaitRequest{InterpreterID: r.InterpreterID, Asking: person(time.Second)})
			expect(t, err == nil && r.Stdout == "A\n", "%s: %+v, %v", client, r, err)
		})
	}
}

// TestAQuestionWithoutACaller waits for the next one.
func TestAQuestionWithoutACaller(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		r := mustRun(t, m, RunRequest{Code: "a\nb", Asking: person(time.Minute), Wait: time.Second})
		time.Sleep(2 * time.Minute) // the second question comes while nobody waits
		expect(t, r.Status == StatusAsking, "%+v", r)
		r, err := m.Await(t.Context(), me, WaitRequest{Asking: person(time.Second)})
		expect(t, err == nil && r.Stdout == "A\nbB\n", "%+v, %v", r, err)
		mustRun(t, m, RunRequest{Code: "a\nb", Asking: person(time.Minute), Wait: time.Second})
		time.Sleep(2 * time.Minute)
		r, err = m.Await(t.Context(), me, WaitRequest{})
		expect(t, err == nil && r.Stdout == "A\nb" && r.Status == StatusAsking && !r.PersonAsked, "a caller that can't ask: %+v, %v", r, err)
	})
}

func TestTheCallReturnsWithTheQuestion(t *testing.T) {
	asking(t, func(t *testing.T, m *Manager) {
		r := mustRun(t, m, RunRequest{Code: "a\nb", Asking: byReturn})
		if r.Question == nil || *r.Question != (Asked{Number: 1, Prompt: "a"}) || r.Stdout != "" || r.Status != StatusAsking {
			t.Fatalf("%+v", r)
		}
		reply := func(question int, text string) *Result {
			t.Helper()
			r, err := m.Await(t.Context(), me, WaitRequest{Asking: byReturn, Answer: &Answer{1, question, Reply{Text: text}}})
			must(t, err)
			return r
		}
		if r = reply(0, "of no question"); r.Question == nil || r.Question.Number != 1 {
			t.Fatalf("%+v", r)
		}
		if r = reply(1, "one"); r.Question == nil || *r.Question != (Asked{Number: 2, Prompt: "b"}) {
			t.Fatalf("%+v", r)
		}
		if r = reply(1, "one again"); r.Question == nil || r.Question.Number != 2 {
			t.Fatalf("%+v", r)
		}
		if r = reply(2, "two"); r.Question != nil || r.Stdout != "aone\nbtwo\n" || r.Status != StatusOK {
			t.Fatalf("%+v", r)
		}
		wantCode(t, errOf(m.Await(t.Context(), me, WaitRequest{Asking: byReturn, Answer: &Answer{1, 2, Reply{}}})), CodeInvalid, "execution 1", "not run again")
		wantCode(t, errOf(m.Await(t.Context(), other, WaitRequest{InterpreterID: r.InterpreterID, Answer: &Answer{1, 2, Reply{}}})), CodeNotFound)
		r = mustRun(t, m, RunRequest{Code: "c", Asking: Asking{Return: true, WithOutput: true}})
		expect(t, r.Question != nil && r.Stdout == "c" && r.PersonAsked, "%+v", r)
	})
}

// TestWhatEndsAQuestion: whoever was asked is told by the end of the context.
func TestWhatEndsAQuestion(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *Manager, cancel func()){
		"an interrupt":        func(t *testing.T, m *Manager, _ func()) { _, _ = m.Interrupt(t.Context(), me, "") },
		"the call's end":      func(_ *testing.T, _ *Manager, cancel func()) { cancel() },
		"the process's death": func(_ *testing.T, m *Manager, _ func()) { m.options.Starter.(*fakeStarter).lead().die("killed") },
		"the time limit":      func(*testing.T, *Manager, func()) { time.Sleep(time.Hour) },
		"the session's end":   func(t *testing.T, m *Manager, _ func()) { m.EndClient(t.Context(), me) },
	} {
		t.Run(name, func(t *testing.T) {
			asking(t, func(t *testing.T, m *Manager) {
				begun, told := make(chan struct{}), make(chan struct{})
				ask := func(ctx context.Context, _ Asked) Reply {
					close(begun)
					<-ctx.Done()
					close(told)
					return Reply{Text: "late"}
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				over := make(chan *Result, 1)
				go func() {
					r, _ := m.Run(ctx, me, RunRequest{Code: "a", Wait: 2 * time.Hour, Asking: Asking{Ask: ask}})
					over <- r
				}()
				<-begun
				end(t, m, cancel)
				<-told
				r := <-over
				expect(t, r == nil || (!r.Success && !r.Status.Runs()), "%+v", r)
			})
		})
	}
}

// letRun runs code that is answered as running, and lets it come to its end.
func letRun(t *testing.T, m *Manager, r RunRequest) {
	t.Helper()
	r.Wait = -1
	if r := mustRun(t, m, r); r.Status != StatusRunning {
		t.Fatalf("%+v", r)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
}

// slowly makes code take a second.
func slowly(f *fakeStarter) *fakeStarter {
	return f.around(func(run runner, w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		time.Sleep(time.Second)
		return run(w, r, sink)
	})
}

func wait(t *testing.T, m *Manager) *Result {
	t.Helper()
	r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Minute})
	must(t, err)
	return r
}

func interrupt(t *testing.T, m *Manager) *Interruption {
	t.Helper()
	i, err := m.Interrupt(t.Context(), me, "")
	must(t, err)
	return i
}

func restart(t *testing.T, m *Manager) Listing {
	t.Helper()
	l, err := m.Restart(t.Context(), me, "")
	must(t, err)
	return l
}

// TestAnEndThatNobodySawIsToldOnce with the next answer, whatever it is of.
func TestAnEndThatNobodySawIsToldOnce(t *testing.T) {
	const raised = `execution 2 has ended (error) and its answer was not fetched; operation "wait" returns it`
	const crashed = `execution 2 crashed after it had been answered as running; its changes are undone. Operation "wait" returns its answer`
	const killed = `execution 2 had to be killed at its time limit after it had been answered as running; its changes are undone. Operation "wait" returns its answer`
	ends := map[string]struct {
		request RunRequest
		want    string
	}{
		"success":   {RunRequest{Code: "e"}, strings.Replace(raised, "error", "ok", 1)},
		"exception": {RunRequest{Code: "raise"}, raised},
		"crash":     {RunRequest{Code: "crash"}, crashed},
		"kill":      {RunRequest{Code: "hang", Timeout: time.Second}, killed},
	}
	answers := map[string]func(*testing.T, *Manager) []string{
		"run": func(t *testing.T, m *Manager) []string { return run(t, m, "b").Notes },
		"running": func(t *testing.T, m *Manager) []string {
			return mustRun(t, m, RunRequest{Code: "b", Wait: -1}).Notes
		},
		"undo":   func(t *testing.T, m *Manager) []string { return undo(t, m).Notes },
		"branch": func(t *testing.T, m *Manager) []string { return branch(t, m, "").Notes },
		"variables": func(t *testing.T, m *Manager) []string {
			_, notes, err := m.Variables(t.Context(), me, "")
			expect(t, err == nil, "%+v", err)
			return notes
		},
		"interrupt": func(t *testing.T, m *Manager) []string {
			i := interrupt(t, m)
			return i.Notes
		},
	}
	for end, e := range ends {
		for name, answer := range answers {
			t.Run(end+" "+name, func(t *testing.T) {
				survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
					run(t, m, "a")
					letRun(t, m, e.request)
					l := list(t, m)[0]
					expect(t, l.Unfetched == 1, "%+v", l)
					told := answer(t, m)
					expect(t, slices.ContainsFunc(told, func(note string) bool { return strings.HasSuffix(note, e.want) }), "%q", told)
					notes := notes(run(t, m, "c"))
					expect(t, !strings.Contains(notes, "execution 2"), "told twice: %s", notes)
				})
			})
		}
	}
}

// TestAnEndThatLostTheVariablesSaysSo, and which older ones are back.
func TestAnEndThatLostTheVariablesSaysSo(t *testing.T) {
	for before, want := range map[string]string{
		"":  "execution 2 crashed after it had been answered as running; the variables are lost. Operation",
		"a": "execution 3 crashed after it had been answered as running; the variables are as they were before execution 2. Operation",
	} {
		survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
			if before != "" {
				run(t, m, before)
			}
			run(t, m, "2 threads")
			letRun(t, m, RunRequest{Code: "crash"})
			notes := notes(run(t, m, "b"))
			expect(t, strings.Contains(notes, want), "%q", notes)
		})
	}
}

// TestALateAnswerKnowsWhatBecameOfItsVariables: it says nothing of them that is no more so.
func TestALateAnswerKnowsWhatBecameOfItsVariables(t *testing.T) {
	for name, test := range map[string]struct {
		act    func(*testing.T, *Manager)
		undone bool
	}{
		"a run":   {func(t *testing.T, m *Manager) { run(t, m, "c") }, false},
		"a crash": {func(t *testing.T, m *Manager) { run(t, m, "crash") }, false}, // its copy comes back
		"undo":    {func(t *testing.T, m *Manager) { undo(t, m) }, true},
		"undo of a later one": {func(t *testing.T, m *Manager) {
			run(t, m, "c")
			undo(t, m)
		}, false},
		"reset": {func(t *testing.T, m *Manager) { mustRun(t, m, RunRequest{Code: "c", Reset: true}) }, true},
		"restart": {func(t *testing.T, m *Manager) {
			restart(t, m)
		}, true},
		"a crash without a copy": {func(t *testing.T, m *Manager) {
			mustRun(t, m, RunRequest{Code: "2 threads", Reset: true})
			run(t, m, "crash")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
				run(t, m, "a")
				letRun(t, m, RunRequest{Code: "b"})
				test.act(t, m)
				r := wait(t, m)
				expect(t, r.Execution == 2 && r.Undone == test.undone, "execution %d, undone %t", r.Execution, r.Undone)
			})
		})
	}
}

// TestARestartThatEndsARunIsToldByItsAnswer alone.
func TestARestartThatEndsARunIsToldByItsAnswer(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		mustRun(t, m, RunRequest{Code: "hang", Wait: -1})
		restart(t, m)
		r := wait(t, m)
		expect(t, !r.Undone && r.InterpreterRestarted, "%+v", r)
	})
}

// TestWhatSomebodyWaitsForIsNotOverdue, nor an answer to itself.
func TestWhatSomebodyWaitsForIsNotOverdue(t *testing.T) {
	survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		waiting, stop := context.WithCancel(t.Context())
		defer stop()
		for range 3 {
			go func() { _, _ = m.Run(waiting, me, RunRequest{Code: "raise"}) }()
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		r := run(t, m, "c")
		expect(t, len(r.Notes) == 0, "%q", r.Notes)
	})
}

func TestAWaitSaysWhoseAnswerItIs(t *testing.T) {
	survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		for _, code := range []string{"a", "raise", "b"} {
			letRun(t, m, RunRequest{Code: code})
		}
		mustRun(t, m, RunRequest{Code: "c", Wait: -1})
		for _, want := range []struct {
			heading string
			waiting int
			stdout  string
		}{
			{"This is the answer of execution 1; 2 more are waiting; execution 4 is running.", 2, "a"},
			{"This is the answer of execution 2; 1 more is waiting; execution 4 is running.", 1, "a raise"},
			{"This is the answer of execution 3; execution 4 is running.", 0, "a raise b"},
			{"", 0, "a raise b c"},
		} {
			r := wait(t, m)
			expect(t, r.Heading == want.heading && r.AnswersWaiting == want.waiting && r.Stdout == want.stdout, "%q, %d waiting, %q", r.Heading, r.AnswersWaiting, r.Stdout)
		}
	})
}

func TestAnInterruptSaysHowItsOutputComes(t *testing.T) {
	for unfetched, want := range map[int]string{
		-1: `The call that waits for it returns its output`,
		0:  `Operation "wait" returns its output`,
		1:  `Operation "wait" returns its output after that of 1 other execution`,
		2:  `Operation "wait" returns its output after that of 2 other executions`,
	} {
		survive(t, slowly(remembers()), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
			for range unfetched {
				letRun(t, m, RunRequest{Code: "a"})
			}
			if unfetched < 0 {
				go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "hang"}) }()
				synctest.Wait()
			} else {
				mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
			}
			i := interrupt(t, m)
			expect(t, strings.HasSuffix(i.Message, ". "+want), "%+v", i)
		})
	}
}
