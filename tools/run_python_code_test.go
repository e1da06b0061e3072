package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/answer"
)

// TestRunPassesOn: what the agent asks for is what the Manager hears.
func TestRunPassesOn(t *testing.T) {
	for name, test := range map[string]struct {
		arguments string
		want      sessions.RunRequest
	}{
		"code alone":     {`{"code":"1+1"}`, sessions.RunRequest{Code: "1+1"}},
		"all":            {`{"code":"x","interpreter_id":"7f","result_var_name":"größe","timeout":1.5,"wait":10,"reset":true}`, sessions.RunRequest{Code: "x", InterpreterID: "7f", ResultVarName: "größe", Timeout: 1500 * time.Millisecond, Wait: 10 * time.Second, Reset: true}},
		"filled in":      {`{"code":"x","interpreter_id":"","result_var_name":null,"timeout":0,"wait":0,"reset":null}`, sessions.RunRequest{Code: "x"}},
		"at once":        {`{"code":"x","wait":0.01}`, sessions.RunRequest{Code: "x", Wait: 10 * time.Millisecond}},
		"soft keyword":   {`{"code":"x","result_var_name":"match"}`, sessions.RunRequest{Code: "x", ResultVarName: "match"}},
		"as strings":     {`{"code":"x","timeout":"30","reset":"true"}`, sessions.RunRequest{Code: "x", Timeout: 30 * time.Second, Reset: true}},
		"empty optional": {`{"code":"","interpreter_id":"","result_var_name":""}`, sessions.RunRequest{}},
		"endless":        {`{"code":"x","timeout":1e300}`, sessions.RunRequest{Code: "x", Timeout: 1<<63 - 1}},
		// What makes a run a trial.
		"no trial":                {`{"code":"x","plan":" \n","metric_var_name":"","maximize":null}`, sessions.RunRequest{Code: "x"}},
		"a plan":                  {`{"code":"x","plan":" look \n"}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{Plan: "look"}}},
		"an analysis":             {`{"code":"x","plan":"p","analysis":" a\n"}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{Plan: "p", Analysis: "a"}}},
		"a metric":                {`{"code":"x","metric_var_name":"größe","maximize":false}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{MetricVarName: "größe"}}},
		"a metric in normal form": {`{"code":"x","metric_var_name":"ſcore","maximize":false}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{MetricVarName: "score"}}},
		"plan and metric":         {`{"code":"x","plan":"p","metric_var_name":"auc","maximize":true}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{Plan: "p", MetricVarName: "auc", Maximize: true}}},
		"a string for truth":      {`{"code":"x","metric_var_name":"auc","maximize":"True"}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{MetricVarName: "auc", Maximize: true}}},
		"a long plan":             {`{"code":"x","plan":"` + strings.Repeat("ä", 10_000) + `"}`, sessions.RunRequest{Code: "x", Trial: &sessions.Trial{Plan: strings.Repeat("ä", 10_000)}}},
		"a plan and a result":     {`{"code":"x","result_var_name":"auc","plan":"p"}`, sessions.RunRequest{Code: "x", ResultVarName: "auc", Trial: &sessions.Trial{Plan: "p"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got sessions.RunRequest
			var caller sessions.Client
			m := &fakeManager{run: func(_ context.Context, c sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
				caller, got = c, r
				return example(func(*sessions.Result) {}), nil
			}}
			c := connect(t, "tester", m, Options{Trials: strings.Contains(test.arguments, `"plan"`) || test.want.Trial != nil, Client: func(context.Context) sessions.Client { return "stdio" }})
			if answer := call(t, c, "run_python_code", test.arguments); answer.IsError {
				t.Fatal(text(t, answer))
			}
			diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(sessions.RunRequest{}, "Progress"))
			expect(t, diff == "" && caller == "stdio", "caller %q\n%s", caller, diff)
		})
	}
}

// TestRefusals: nothing reaches the Manager (its fields are nil), and the text
// says what to do.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		tool, arguments, want string
		untried               bool
	}{
		"no code":               {"run_python_code", `{}`, `argument "code" is required for run_python_code`, false},
		"misspelt":              {"run_python_code", `{"code":"x","interpeter_id":"7f"}`, `unknown argument "interpeter_id" for run_python_code; did you mean "interpreter_id"?`, true},
		"an expression":         {"run_python_code", `{"code":"x","result_var_name":"df.mean()"}`, `argument "result_var_name" must be the name of one variable, not "df.mean()"; assign the expression to a variable at the end of code, as in result = …, and give that name`, true},
		"a keyword":             {"run_python_code", `{"code":"x","result_var_name":"None"}`, `argument "result_var_name" must be the name of one variable, not "None"; assign the expression to a variable at the end of code, as in result = …, and give that name`, false},
		"a digit first":         {"run_python_code", `{"code":"x","result_var_name":"2x"}`, `argument "result_var_name" must be the name of one variable, not "2x"; assign the expression to a variable at the end of code, as in result = …, and give that name`, false},
		"no time":               {"run_python_code", `{"code":"x","timeout":-1}`, `argument "timeout" must be at least 0 seconds, not -1`, false},
		"a unit":                {"run_python_code", `{"code":"x","timeout":"1h"}`, `argument "timeout" must be a number of seconds, not the string "1h"`, true},
		"no operation":          {"manage_interpreters", `{}`, `argument "operation" is required for manage_interpreters`, false},
		"delete what":           {"manage_interpreters", `{"operation":"delete"}`, `interpreter_id is required for delete operation`, false},
		"unknown operation":     {"manage_interpreters", `{"operation":"explode"}`, `Unknown operation: explode (argument "operation" must be one of "create", "list", "delete", "restart", "interrupt", "wait", "answer", "branch", "undo", "variables", "set_variables" or "upload", not "explode")`, false},
		"misspelt operation":    {"manage_interpreters", `{"operation":"lst"}`, `Unknown operation: lst (argument "operation" must be one of "create", "list", "delete", "restart", "interrupt", "wait", "answer", "branch", "undo", "variables", "set_variables" or "upload", not "lst"; did you mean "list"?)`, false},
		"not a word":            {"manage_interpreters", `{"operation":7}`, `argument "operation" must be a string, not the number 7`, false},
		"plan without trials":   {"run_python_code", `{"code":"x","plan":"p"}`, `argument "plan" needs a server started with --trials; leave it out, nothing was run`, true},
		"metric without trials": {"run_python_code", `{"code":"x","metric_var_name":"auc","maximize":true}`, `argument "metric_var_name" needs a server started with --trials; leave it out, nothing was run`, true},
		"analysis of nothing":   {"run_python_code", `{"code":"x","analysis":"a"}`, `argument "analysis" belongs to a trial: say in plan what this one tries, or leave analysis out`, false},
		"analysis alone":        {"run_python_code", `{"code":"x","analysis":"a"}`, `argument "analysis" needs a server started with --trials; leave it out, nothing was run`, true},
		"misspelt in a trial":   {"run_python_code", `{"code":"x","metric_name":"auc"}`, `unknown argument "metric_name" for run_python_code; did you mean "metric_var_name"?`, false},
		"which way":             {"run_python_code", `{"code":"x","metric_var_name":"auc"}`, `argument "maximize" is required with metric_var_name: true if more of auc is better (accuracy), false if less is (an error, a loss)`, false},
		"of what":               {"run_python_code", `{"code":"x","plan":"p","maximize":true}`, `argument "maximize" is about a metric: name its variable in metric_var_name, or leave maximize out`, false},
		"a metric's expression": {"run_python_code", `{"code":"x","metric_var_name":"s['auc']","maximize":true}`, `argument "metric_var_name" must be the name of one variable, not "s['auc']"; assign the expression to a variable at the end of code, as in score = …, and give that name`, false},
		"a metric's keyword":    {"run_python_code", `{"code":"x","metric_var_name":"lambda","maximize":true}`, `argument "metric_var_name" must be the name of one variable, not "lambda"; assign the expression to a variable at the end of code, as in score = …, and give that name`, false},
		"a long plan":           {"run_python_code", `{"code":"x","plan":"` + strings.Repeat("ä", 10_001) + `"}`, `argument "plan" may have 10,000 characters, not 10,001; a few sentences say what the trial tries and why`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, "tester", &fakeManager{}, Options{Trials: !test.untried})
			answer := call(t, c, test.tool, test.arguments)
			got := text(t, answer)
			expect(t, answer.IsError && got == test.want, "isError %v\n got %s\nwant %s", answer.IsError, got, test.want)
		})
	}
}

// TestFailures: an error the agent can act on is told as it is, a fault of
// ours is logged with its cause and told as one sentence.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err          error
		want, logged string
	}{
		"for the agent": {sessions.Errorf(sessions.CodeNotFound, "Interpreter 7f not found"), "Interpreter 7f not found", ""},
		"wrapped":       {fmt.Errorf("running: %w", sessions.Errorf(sessions.CodeBusy, "busy")), "busy", ""},
		"with a cause":  {sessions.Errorf(sessions.CodeStart, "Python could not be started: %w", errors.New("exec: no such file")), "Python could not be started: exec: no such file", "exec: no such file"},
		"cancelled":     {fmt.Errorf("the call was cancelled: %w", context.Canceled), "the call was cancelled", ""},
		"ours":          {errors.New("disk on fire"), "run_python_code failed through a fault of the server, which has been logged; try once more, and if it fails again restart the interpreter with manage_interpreters", "disk on fire"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			m := &fakeManager{run: func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) {
				return nil, test.err
			}}
			c := connect(t, "tester", m, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			answer := call(t, c, "run_python_code", `{"code":"x"}`)
			got := text(t, answer)
			expect(t, answer.IsError && got == test.want, "isError %v, %q", answer.IsError, got)
			expect(t, strings.Contains(log.String(), test.logged) && (test.logged == "") == (log.Len() == 0), "log: %s", log.String())
		})
	}
}

// TestPanicIsContained: a fault in a handler costs one call, not the server.
func TestPanicIsContained(t *testing.T) {
	var log bytes.Buffer
	c := connect(t, "tester", &fakeManager{}, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	answer := call(t, c, "run_python_code", `{"code":"x"}`)
	expect(t, answer.IsError && strings.Contains(log.String(), "panic"), "%s, log %s", text(t, answer), log.String())
}

// TestCancelReachesTheManager: the handler's context is the Manager's.
func TestCancelReachesTheManager(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &fakeManager{run: func(ctx context.Context, _ sessions.Client, _ sessions.RunRequest) (*sessions.Result, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	var request mcp.CallToolRequest
	request.Params.Arguments = map[string]any{"code": "x"}
	answer, err := newToolbox(nil, m, Options{}).runPythonCode(ctx, request)
	expect(t, errors.Is(err, context.Canceled), "%+v, %v", answer, err)
}

// TestTrialOfAWait: a trial that was answered as running tells how it ended to who
// waits, in text and record.
func TestTrialOfAWait(t *testing.T) {
	loss := 0.12345678901
	m := &fakeManager{await: func(context.Context, sessions.Client, sessions.WaitRequest) (*sessions.Result, error) {
		return example(func(r *sessions.Result) {
			r.Stop = "Stop."
			r.Trial = &sessions.TrialReport{Number: 2, Stage: sessions.StageDraft, Buggy: true, Why: "loss is nan", Depth: 3, Name: "loss", Metric: &loss, Maximize: new(bool), Best: &sessions.BestTrial{Number: 2, InterpreterID: id, Execution: 3, Metric: loss}}
		}), nil
	}}
	got := call(t, connect(t, "tester", m, Options{Trials: true, Answers: answer.Options{StructuredContent: answer.StructuredAlways}}), manageInterpretersName, `{"operation":"wait"}`)
	if got := text(t, got); !strings.Contains(got, "[trial 2] draft: buggy, loss is nan. It is") {
		t.Error(got)
	}
	record := got.StructuredContent.(map[string]any)
	stop := record["stop"]
	expect(t, stop == "Still buggy after 3 debugs in a row: give this line up; improve the best trial, or draft something else.", "the record says stop: %v", stop)
	told := record["trial"].(map[string]any)
	expect(t, told["metric"] == 0.12345678901, "the record's metric is rounded: %v", told)
}
