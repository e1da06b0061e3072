package sessions

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
	start := f.start
	f.start = func(s Spec) (*fakeWorker, error) {
		w, err := start(s)
		run := w.run
		w.run = func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
			time.Sleep(time.Second)
			return run(w, r, sink)
		}
		return w, err
	}
	return f
}

func wait(t *testing.T, m *Manager) *Result {
	t.Helper()
	r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return r
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
			if err != nil {
				t.Error(err)
			}
			return notes
		},
		"interrupt": func(t *testing.T, m *Manager) []string {
			i, err := m.Interrupt(t.Context(), me, "")
			if err != nil {
				t.Fatal(err)
			}
			return i.Notes
		},
	}
	for end, e := range ends {
		for name, answer := range answers {
			t.Run(end+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					m := surviving(t, slowly(remembers()), nil)
					run(t, m, "a")
					letRun(t, m, e.request)
					if l := list(t, m)[0]; l.Unfetched != 1 {
						t.Errorf("%+v", l)
					}
					told := answer(t, m)
					if !slices.ContainsFunc(told, func(note string) bool { return strings.HasSuffix(note, e.want) }) {
						t.Errorf("%q", told)
					}
					if notes := notes(run(t, m, "c")); strings.Contains(notes, "execution 2") {
						t.Errorf("told twice: %s", notes)
					}
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
		bubble(t, func(t *testing.T) {
			m := surviving(t, slowly(remembers()), nil)
			if before != "" {
				run(t, m, before)
			}
			run(t, m, "2 threads")
			letRun(t, m, RunRequest{Code: "crash"})
			if notes := notes(run(t, m, "b")); !strings.Contains(notes, want) {
				t.Errorf("%q", notes)
			}
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
			if _, err := m.Restart(t.Context(), me, ""); err != nil {
				t.Fatal(err)
			}
		}, true},
		"a crash without a copy": {func(t *testing.T, m *Manager) {
			mustRun(t, m, RunRequest{Code: "2 threads", Reset: true})
			run(t, m, "crash")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := surviving(t, slowly(remembers()), nil)
				run(t, m, "a")
				letRun(t, m, RunRequest{Code: "b"})
				test.act(t, m)
				if r := wait(t, m); r.Execution != 2 || r.Undone != test.undone {
					t.Errorf("execution %d, undone %t", r.Execution, r.Undone)
				}
			})
		})
	}
}

// TestARestartThatEndsARunIsToldByItsAnswer alone.
func TestARestartThatEndsARunIsToldByItsAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		mustRun(t, m, RunRequest{Code: "hang", Wait: -1})
		if _, err := m.Restart(t.Context(), me, ""); err != nil {
			t.Fatal(err)
		}
		if r := wait(t, m); r.Undone || !r.InterpreterRestarted {
			t.Errorf("%+v", r)
		}
	})
}

// TestWhatSomebodyWaitsForIsNotOverdue, nor an answer to itself.
func TestWhatSomebodyWaitsForIsNotOverdue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, slowly(remembers()), nil)
		waiting, stop := context.WithCancel(t.Context())
		defer stop()
		for range 3 {
			go func() { _, _ = m.Run(waiting, me, RunRequest{Code: "raise"}) }()
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if r := run(t, m, "c"); len(r.Notes) != 0 {
			t.Errorf("%q", r.Notes)
		}
	})
}

func TestAWaitSaysWhoseAnswerItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, slowly(remembers()), nil)
		for _, code := range []string{"a", "raise", "b"} {
			letRun(t, m, RunRequest{Code: code})
		}
		mustRun(t, m, RunRequest{Code: "c", Wait: -1})
		for _, want := range []struct {
			heading string
			waiting int
		}{
			{"This is the answer of execution 1; 2 more are waiting; execution 4 is running.", 2},
			{"This is the answer of execution 2; 1 more is waiting; execution 4 is running.", 1},
			{"This is the answer of execution 3; execution 4 is running.", 0},
			{"", 0},
		} {
			if r := wait(t, m); r.Heading != want.heading || r.AnswersWaiting != want.waiting {
				t.Errorf("%q, %d waiting", r.Heading, r.AnswersWaiting)
			}
		}
	})
}

func TestAnInterruptSaysHowItsOutputComes(t *testing.T) {
	for unfetched, want := range map[int]string{
		0: `Operation "wait" returns its output`,
		1: `Operation "wait" returns its output after that of 1 other execution`,
		2: `Operation "wait" returns its output after that of 2 other executions`,
	} {
		bubble(t, func(t *testing.T) {
			m := surviving(t, slowly(remembers()), nil)
			for range unfetched {
				letRun(t, m, RunRequest{Code: "a"})
			}
			mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
			i, err := m.Interrupt(t.Context(), me, "")
			if err != nil || !strings.HasSuffix(i.Message, ". "+want) {
				t.Errorf("%+v %v", i, err)
			}
		})
	}
}

func TestAnInterruptOfWhatACallWaitsFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		run(t, m, "a")
		go func() { _, _ = m.Run(t.Context(), me, RunRequest{Code: "hang"}) }()
		synctest.Wait()
		i, err := m.Interrupt(t.Context(), me, "")
		if err != nil || !strings.HasSuffix(i.Message, ". The call that waits for it returns its output") {
			t.Errorf("%+v %v", i, err)
		}
	})
}
