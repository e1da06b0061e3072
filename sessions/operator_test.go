package sessions

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// visit runs code as the operator does, in the session of that name.
func visit(t *testing.T, m *Manager, code string) *Result {
	t.Helper()
	r, err := m.Run(t.Context(), Operator, RunRequest{Code: code, InterpreterID: seenByOperator(t, m)})
	if err != nil {
		t.Fatal(err)
	}
	return r
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
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), nil)
		run(t, m, "a")
		if r := visit(t, m, "b"); r.Execution != 2 {
			t.Errorf("%+v", r)
		}
		if l := list(t, m)[0]; l.Executions != 2 || !l.Default || l.Client != "" || l.Key != "" {
			t.Errorf("the owner's listing: %+v", l)
		}
		_, err := m.Run(t.Context(), Operator, RunRequest{Code: "a"})
		wantCode(t, err, CodeInvalid, "interpreter_id is required")
		_, err = m.Create(t.Context(), Operator, CreateRequest{})
		wantCode(t, err, CodeInvalid, "interpreter_id is required")
		if _, running := m.Usage(); running != 0 {
			t.Errorf("%d run", running)
		}
	})
}

// TestTheOwnerHearsOfTheOperator with its next answer, once, of all that it would not
// know else.
func TestTheOwnerHearsOfTheOperator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, remembers(), func(o *Options) { o.MaxRetries = 2 })
		run(t, m, "a")
		for range 3 {
			if r := visit(t, m, "raise"); r.FailuresInARow != 0 || r.Stop != "" {
				t.Errorf("a person's failure counts: %+v", r)
			}
		}
		visit(t, m, "crash")
		r := run(t, m, "b")
		if got := notes(r); !strings.Contains(got, "a person ran executions 2 to 5 in this interpreter") || !strings.Contains(got, "execution 5 crashed; its changes are undone") {
			t.Errorf("%q", got)
		}
		if r.InterpreterRestarted || r.FailuresInARow != 0 {
			t.Errorf("what befell the person's run is told as this one's: %+v", r)
		}
		if got := notes(run(t, m, "c")); strings.Contains(got, "a person") {
			t.Errorf("told again: %q", got)
		}
	})
}

// TestAnswersGoToWhoAsked: the agent's wait returns none of the operator's runs, and
// the other way round.
func TestAnswersGoToWhoAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := surviving(t, slowly(remembers()), nil)
		run(t, m, "a")
		key := seenByOperator(t, m)
		began, err := m.Run(t.Context(), Operator, RunRequest{Code: "b", InterpreterID: key, Wait: -1})
		if err != nil || began.Status != StatusRunning {
			t.Fatalf("%+v, %v", began, err)
		}
		_, err = m.Await(t.Context(), me, WaitRequest{})
		wantCode(t, err, CodeInvalid, "nothing of yours is running", "a person has been running execution 2")
		_, err = m.Run(t.Context(), me, RunRequest{Code: "c", Wait: -1})
		wantCode(t, err, CodeBusy, "a person has been running execution 2", "did not run")
		time.Sleep(time.Minute)
		synctest.Wait()
		if l := list(t, m)[0]; l.Unfetched != 0 {
			t.Errorf("the agent is to fetch a person's answer: %+v", l)
		}
		letRun(t, m, RunRequest{Code: "raise"})
		r, err := m.Await(t.Context(), Operator, WaitRequest{InterpreterID: key})
		if err != nil || r.Execution != 2 {
			t.Errorf("%+v, %v", r, err)
		}
		if r := wait(t, m); r.Execution != 3 {
			t.Errorf("%+v", r)
		}
		// Ctrl-C at the prompt is not for the agent's code.
		if _, err := m.Run(t.Context(), me, RunRequest{Code: "d", Wait: -1}); err != nil {
			t.Fatal(err)
		}
		i, err := m.Interrupt(t.Context(), Operator, key)
		if err != nil || i.Stopped {
			t.Errorf("%+v, %v", i, err)
		}
		wait(t, m)
	})
}
