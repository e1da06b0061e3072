package sessions

import (
	"testing"
	"testing/synctest"
	"time"
)

// wantCopies checks how many copies there are when all is done.
func wantCopies(t *testing.T, f *fakeStarter, when string, want int) {
	t.Helper()
	synctest.Wait()
	if _, asleep := f.copies(); asleep != want {
		t.Errorf("%s: %d copies sleep, not %d", when, asleep, want)
	}
}

// After quick executions copies go when it is quiet, or when there are many.
func TestCopiesGoInAQuietMoment(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := remembers()
		m := surviving(t, f, nil)
		const kept = 2 // the present state and one to undo to
		for n := range kept + mostDismissals {
			run(t, m, "a")
			wantCopies(t, f, "a fast sequence", n+1)
			time.Sleep(quietTime / 2)
		}
		run(t, m, "a")
		wantCopies(t, f, "one more", kept+1)
		time.Sleep(quietTime - time.Nanosecond)
		wantCopies(t, f, "before it is quiet", kept+1)
		time.Sleep(time.Nanosecond)
		wantCopies(t, f, "in a quiet moment", kept)
		run(t, m, "a")
		wantCopies(t, f, "after that", kept+1)
	})
}

// A slow execution may have written to much: what its copies hold goes at once.
func TestCopiesOfSlowExecutionsGoAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := workerThat(func(*fakeWorker, Request, Sink) (Outcome, error) {
			return Outcome{OK: true, ExecTime: quickTime}, nil
		})
		f.forks = true
		m := surviving(t, f, nil)
		for range 5 {
			run(t, m, "a")
		}
		wantCopies(t, f, "after slow executions", 2)
	})
}

// Whatever ends a session's states ends what is to go later, too.
func TestCopiesThatGoLaterGoWithTheSession(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *Manager, id string){
		"delete": func(t *testing.T, m *Manager, id string) {
			if err := m.Delete(t.Context(), me, id); err != nil {
				t.Error(err)
			}
		},
		"reset": func(t *testing.T, m *Manager, id string) {
			mustRun(t, m, RunRequest{Code: "b", InterpreterID: id, Reset: true})
			time.Sleep(quietTime)
		},
		"crash": func(t *testing.T, m *Manager, _ string) {
			run(t, m, "crash")
			time.Sleep(quietTime)
		},
		"undo": func(t *testing.T, m *Manager, id string) {
			if _, err := m.Undo(t.Context(), me, id); err != nil {
				t.Error(err)
			}
			time.Sleep(quietTime)
		},
	} {
		want := map[string]int{"delete": 0, "reset": 1, "crash": 2, "undo": 1}[name]
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := remembers()
				m := surviving(t, f, nil)
				var id string
				for range 5 {
					id = run(t, m, "a").InterpreterID
				}
				wantCopies(t, f, "before", 5)
				end(t, m, id)
				wantCopies(t, f, "after", want)
			})
		})
	}
}
