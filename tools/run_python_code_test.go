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
	} {
		t.Run(name, func(t *testing.T) {
			var got sessions.RunRequest
			var caller sessions.Client
			m := &fakeManager{run: func(_ context.Context, c sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
				caller, got = c, r
				return example(func(*sessions.Result) {}), nil
			}}
			c := connect(t, "tester", m, Options{Client: func(context.Context) sessions.Client { return "stdio" }})
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
	for name, test := range map[string]struct{ tool, arguments, want string }{
		"no code":            {"run_python_code", `{}`, `argument "code" is required for run_python_code`},
		"misspelt":           {"run_python_code", `{"code":"x","interpeter_id":"7f"}`, `unknown argument "interpeter_id" for run_python_code; did you mean "interpreter_id"?`},
		"an expression":      {"run_python_code", `{"code":"x","result_var_name":"df.mean()"}`, `argument "result_var_name" must be the name of one variable, not "df.mean()"; assign the expression to a variable at the end of code, as in result = …, and give that name`},
		"a digit first":      {"run_python_code", `{"code":"x","result_var_name":"2x"}`, `argument "result_var_name" must be the name of one variable, not "2x"; assign the expression to a variable at the end of code, as in result = …, and give that name`},
		"no time":            {"run_python_code", `{"code":"x","timeout":-1}`, `argument "timeout" must be at least 0 seconds, not -1`},
		"a unit":             {"run_python_code", `{"code":"x","timeout":"1h"}`, `argument "timeout" must be a number of seconds, not the string "1h"`},
		"no operation":       {"manage_interpreters", `{}`, `argument "operation" is required for manage_interpreters`},
		"delete what":        {"manage_interpreters", `{"operation":"delete"}`, `interpreter_id is required for delete operation`},
		"unknown operation":  {"manage_interpreters", `{"operation":"explode"}`, `Unknown operation: explode (argument "operation" must be one of "create", "list", "delete", "restart", "interrupt", "wait", "answer", "branch", "undo", "variables", "set_variables" or "upload", not "explode")`},
		"misspelt operation": {"manage_interpreters", `{"operation":"lst"}`, `Unknown operation: lst (argument "operation" must be one of "create", "list", "delete", "restart", "interrupt", "wait", "answer", "branch", "undo", "variables", "set_variables" or "upload", not "lst"; did you mean "list"?)`},
		"not a word":         {"manage_interpreters", `{"operation":7}`, `argument "operation" must be a string, not the number 7`},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, "tester", &fakeManager{}, Options{})
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

// TestTrialPassesOn: what makes a run a trial reaches the Manager, and a run without
// it is none.
func TestTrialPassesOn(t *testing.T) {
	for name, test := range map[string]struct {
		arguments string
		want      *sessions.Trial
	}{
		"no trial":      {`{"code":"x"}`, nil},
		"empty":         {`{"code":"x","plan":" \n","metric_var_name":"","maximize":null}`, nil},
		"plan":          {`{"code":"x","plan":" look \n"}`, &sessions.Trial{Plan: "look"}},
		"analysis":      {`{"code":"x","plan":"p","analysis":" a\n"}`, &sessions.Trial{Plan: "p", Analysis: "a"}},
		"metric":        {`{"code":"x","metric_var_name":"größe","maximize":false}`, &sessions.Trial{MetricVarName: "größe"}},
		"normal form":   {`{"code":"x","metric_var_name":"ſcore","maximize":false}`, &sessions.Trial{MetricVarName: "score"}},
		"both":          {`{"code":"x","plan":"p","metric_var_name":"auc","maximize":true}`, &sessions.Trial{Plan: "p", MetricVarName: "auc", Maximize: true}},
		"as a string":   {`{"code":"x","metric_var_name":"auc","maximize":"True"}`, &sessions.Trial{MetricVarName: "auc", Maximize: true}},
		"a long plan":   {`{"code":"x","plan":"` + strings.Repeat("ä", 10_000) + `"}`, &sessions.Trial{Plan: strings.Repeat("ä", 10_000)}},
		"with a result": {`{"code":"x","result_var_name":"auc","plan":"p"}`, &sessions.Trial{Plan: "p"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got *sessions.Trial
			m := &fakeManager{run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
				got = r.Trial
				return example(func(*sessions.Result) {}), nil
			}}
			if got := call(t, connect(t, "tester", m, Options{Trials: true}), runPythonCodeName, test.arguments); got.IsError {
				t.Fatal(text(t, got))
			}
			same(t, test.want, got)
		})
	}
}

// TestTrialRefusals: nothing reaches the Manager, and the text says what to do.
func TestTrialRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		trials          bool
		arguments, want string
	}{
		"plan without trials":   {false, `{"code":"x","plan":"p"}`, `argument "plan" needs a server started with --trials; leave it out, nothing was run`},
		"metric without trials": {false, `{"code":"x","metric_var_name":"auc","maximize":true}`, `argument "metric_var_name" needs a server started with --trials; leave it out, nothing was run`},
		"analysis of nothing":   {true, `{"code":"x","analysis":"a"}`, `argument "analysis" belongs to a trial: say in plan what this one tries, or leave analysis out`},
		"analysis alone":        {false, `{"code":"x","analysis":"a"}`, `argument "analysis" needs a server started with --trials; leave it out, nothing was run`},
		"misspelt":              {true, `{"code":"x","metric_name":"auc"}`, `unknown argument "metric_name" for run_python_code; did you mean "metric_var_name"?`},
		"seconds still":         {true, `{"code":"x","timeout":"1h"}`, `argument "timeout" must be a number of seconds, not the string "1h"`},
		"result still":          {true, `{"code":"x","plan":"p","result_var_name":"1"}`, `argument "result_var_name" must be the name of one variable, not "1"; assign the expression to a variable at the end of code, as in result = …, and give that name`},
		"which way":             {true, `{"code":"x","metric_var_name":"auc"}`, `argument "maximize" is required with metric_var_name: true if more of auc is better (accuracy), false if less is (an error, a loss)`},
		"of what":               {true, `{"code":"x","plan":"p","maximize":true}`, `argument "maximize" is about a metric: name its variable in metric_var_name, or leave maximize out`},
		"an expression":         {true, `{"code":"x","metric_var_name":"s['auc']","maximize":true}`, `argument "metric_var_name" must be the name of one variable, not "s['auc']"; assign the expression to a variable at the end of code, as in score = …, and give that name`},
		"a long plan":           {true, `{"code":"x","plan":"` + strings.Repeat("ä", 10_001) + `"}`, `argument "plan" may have 10,000 characters, not 10,001; a few sentences say what the trial tries and why`},
	} {
		t.Run(name, func(t *testing.T) {
			result := call(t, connect(t, "tester", &fakeManager{}, Options{Trials: test.trials}), runPythonCodeName, test.arguments)
			got := text(t, result)
			expect(t, result.IsError && got == test.want, "isError %v\n got %s\nwant %s", result.IsError, got, test.want)
		})
	}
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
