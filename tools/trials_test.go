package tools

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"understudy/sessions"
	"understudy/tools/answer"
)

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
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
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
			if got := text(t, result); !result.IsError || got != test.want {
				t.Errorf("isError %v\n got %s\nwant %s", result.IsError, got, test.want)
			}
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
	if stop := record["stop"]; stop != "Still buggy after 3 debugs in a row: give this line up; improve the best trial, or draft something else." {
		t.Errorf("the record says stop: %v", stop)
	}
	if told := record["trial"].(map[string]any); told["metric"] != 0.12345678901 {
		t.Errorf("the record's metric is rounded: %v", told)
	}
}
