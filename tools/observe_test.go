package tools

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"understudy/sessions"
)

// TestCallsAreObserved: the log names each operation, its interpreter and what it came to;
// what a client sent that can't be used is no operation.
func TestCallsAreObserved(t *testing.T) {
	var seen Call
	observe := Options{Observe: func(_ context.Context, c Call) { seen = c }}
	run := func(err error) *fakeManager {
		return &fakeManager{run: func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) {
			return &sessions.Result{InterpreterID: "ab12", Execution: 3, Status: sessions.StatusError}, err
		}}
	}
	code := `{"code":"1","interpreter_id":"asked"}`
	for name, test := range map[string]struct {
		manager   *fakeManager
		arguments string
		want      Call
	}{
		"a run":           {run(nil), code, Call{Operation: "run", InterpreterID: "ab12", Execution: 3, Outcome: "error"}},
		"a refusal":       {&fakeManager{run: refused(sessions.Errorf(sessions.CodeBusy, "busy"))}, code, Call{Operation: "run", InterpreterID: "asked", Outcome: "busy"}},
		"a cancelled one": {&fakeManager{run: refused(context.Canceled)}, code, Call{Operation: "run", InterpreterID: "asked", Outcome: "cancelled"}},
		"a fault":         {&fakeManager{run: refused(errors.New("bug"))}, code, Call{Operation: "run", InterpreterID: "asked", Outcome: "fault"}},
		"a panic":         {nil, code, Call{Outcome: "fault"}},
		"a bad argument":  {run(nil), `{"cod":"1"}`, Call{Outcome: "invalid"}},
	} {
		c := connect(t, "tester", test.manager, observe)
		call(t, c, "run_python_code", test.arguments)
		test.want.Tool = "run_python_code"
		if diff := cmp.Diff(test.want, seen, cmpopts.IgnoreFields(Call{}, "Took")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	c := connect(t, "tester", working(), observe)
	answered := map[string]string{"create": "9b", "branch": "c4", "wait": "7f3a9c", "answer": "7f3a9c"}
	named := map[string]string{"answer": "wait"}
	for _, operation := range advertisedOperations(t) {
		call(t, c, "manage_interpreters", `{"operation":"`+operation+`","interpreter_id":"7f","path":"a","content":"x","text":"y","variables":{"k":"v"}}`)
		want := Call{Tool: "manage_interpreters", Operation: operation, InterpreterID: "7f", Outcome: "ok"}
		if id, is := answered[operation]; is {
			want.InterpreterID = id
		}
		if name, is := named[operation]; is {
			want.Operation = name
		}
		if diff := cmp.Diff(want, seen, cmpopts.IgnoreFields(Call{}, "Took", "Execution", "Outcome")); diff != "" || seen.Outcome == "" {
			t.Errorf("%s: %s", operation, diff)
		}
	}
	call(t, c, "manage_interpreters", `{"operation":"fly"}`)
	if seen.Operation != "" || seen.Outcome != "invalid" {
		t.Errorf("an operation that there is not: %+v", seen)
	}
}

func refused(err error) func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) {
	return func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) { return nil, err }
}
