package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		if diff := cmp.Diff(want, answer.StructuredContent); diff != "" || !answer.IsError {
			t.Errorf("%s: isError %v\n%s", name, answer.IsError, diff)
		}
		if answer := call(t, connect(t, "claude-code", failing(test.err), Options{}), "run_python_code", test.arguments); answer.StructuredContent != nil || !answer.IsError {
			t.Errorf("%s: Claude Code gets the record %v", name, answer.StructuredContent)
		}
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
		"anonymous": {sessions.Anonymous, 1, `{"code":"x"}`, `[interpreter_id] Pass interpreter_id "7f" from now on: without it every call starts anew, with no variables.`},
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
		if has := strings.Contains(got, "[interpreter_id]"); has != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
