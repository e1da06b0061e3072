package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"understudy/sessions"
)

// TestRefusalsHaveARecord for clients that get records, and for no others.
func TestRefusalsHaveARecord(t *testing.T) {
	failing := func(err error) *fakeManager {
		return &fakeManager{run: func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) { return nil, err }}
	}
	for name, test := range map[string]struct {
		err             error
		arguments, code string
	}{
		"an argument":   {nil, `{"cod":"x"}`, "invalid"},
		"the Manager's": {sessions.Errorf(sessions.CodeBusy, "it is busy"), `{"code":"x"}`, "busy"},
		"cancelled":     {context.Canceled, `{"code":"x"}`, "cancelled"},
		"a fault":       {errors.New("disk on fire"), `{"code":"x"}`, "fault"},
	} {
		answer := call(t, connect(t, "tester", failing(test.err), Options{}), "run_python_code", test.arguments)
		want := map[string]any{"success": false, "code": test.code, "error": text(t, answer)}
		diff := cmp.Diff(want, answer.StructuredContent)
		expect(t, diff == "" && answer.IsError, "%s: isError %v\n%s", name, answer.IsError, diff)
		answer = call(t, connect(t, "claude-code", failing(test.err), Options{}), "run_python_code", test.arguments)
		expect(t, answer.StructuredContent == nil && answer.IsError, "%s: Claude Code gets the record %v", name, answer.StructuredContent)
	}
}

// TestFirstAnswerNamesTheKey of a client whose next call may come by another connection.
func TestFirstAnswerNamesTheKey(t *testing.T) {
	for name, test := range map[string]struct {
		client    sessions.Client
		execution int
		arguments string
		want      string
	}{
		"anonymous": {sessions.Anonymous, 1, `{"code":"x"}`, `[interpreter_id] Pass interpreter_id "7f" from now on: without it every call starts anew, in an interpreter of its own.`},
		"keyed":     {"session:1", 1, `{"code":"x"}`, `[interpreter_id] Pass interpreter_id "7f" if a later call does not find what this one left.`},
		"later":     {"session:1", 2, `{"code":"x"}`, ""},
		"named":     {"session:1", 1, `{"code":"x","interpreter_id":"7f"}`, ""},
		"stdio":     {"stdio", 1, `{"code":"x"}`, ""},
		"principal": {"principal:anna", 1, `{"code":"x"}`, ""},
	} {
		m := &fakeManager{run: func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) {
			return example(func(r *sessions.Result) { r.InterpreterID, r.Execution = "7f", test.execution }), nil
		}}
		c := connect(t, "tester", m, Options{Client: func(context.Context) sessions.Client { return test.client }})
		got := text(t, call(t, c, "run_python_code", test.arguments))
		has := strings.Contains(got, "[interpreter_id]")
		expect(t, has == (test.want != "") && strings.Contains(got, test.want), "%s: %s", name, got)
	}
}

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
		diff := cmp.Diff(test.want, seen, cmpopts.IgnoreFields(Call{}, "Took"))
		expect(t, diff == "", "%s: %s", name, diff)
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
		diff := cmp.Diff(want, seen, cmpopts.IgnoreFields(Call{}, "Took", "Execution", "Outcome"))
		expect(t, diff == "" && seen.Outcome != "", "%s: %s", operation, diff)
	}
	call(t, c, "manage_interpreters", `{"operation":"fly"}`)
	expect(t, seen.Operation == "" && seen.Outcome == "invalid", "an operation that there is not: %+v", seen)
}

func refused(err error) func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) {
	return func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) { return nil, err }
}
