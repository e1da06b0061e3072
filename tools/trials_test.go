package tools

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"understudy/sessions"
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
			if answer := call(t, connect(t, "tester", m, Options{Trials: true}), runPythonCodeName, test.arguments); answer.IsError {
				t.Fatal(text(t, answer))
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
			answer := call(t, connect(t, "tester", &fakeManager{}, Options{Trials: test.trials}), runPythonCodeName, test.arguments)
			if got := text(t, answer); !answer.IsError || got != test.want {
				t.Errorf("isError %v\n got %s\nwant %s", answer.IsError, got, test.want)
			}
		})
	}
}

// TestTrialOfAWait: a trial that was answered as running tells how it ended to who
// waits, in text and record.
func TestTrialOfAWait(t *testing.T) {
	m := &fakeManager{await: func(context.Context, sessions.Client, sessions.WaitRequest) (*sessions.Result, error) {
		return example(func(r *sessions.Result) {
			r.Stop = "Stop."
			r.Trial = trial(2, func(t *sessions.TrialReport) { t.Buggy, t.Why, t.Depth = true, "loss is nan", 3 })
		}), nil
	}}
	answer := call(t, connect(t, "tester", m, Options{Trials: true, StructuredContent: StructuredAlways}), manageInterpretersName, `{"operation":"wait"}`)
	if got := text(t, answer); !strings.Contains(got, "[trial 2] draft: buggy, loss is nan. It is") {
		t.Error(got)
	}
	record := answer.StructuredContent.(map[string]any)
	if stop := record["stop"]; stop != "Still buggy after 3 debugs in a row: give this line up; improve the best trial, or draft something else." {
		t.Errorf("the record says stop: %v", stop)
	}
	if told := record["trial"].(map[string]any); told["metric"] != 0.12345678901 {
		t.Errorf("the record's metric is rounded: %v", told)
	}
}

func TestMetricText(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", -5e-324: "-4.94066e-324", 1: "1", -3: "-3", 0.5: "0.5", 0.1 + 0.2: "0.3", 0.912345678: "0.912346", 2.0 / 3: "0.666667", 12.3456789: "12.3457",
		123456.789: "123457", 1234567.89: "1234568", 20_000: "20000", 1e15: "1e+15", 1.23456789e20: "1.23457e+20",
		0.000123456789: "0.000123457", 0.0000123456789: "1.23457e-05", -0.99999999: "-1", math.MaxFloat64: "1.79769e+308", 5e-324: "4.94066e-324",
	} {
		if got := metricText(value); got != want {
			t.Errorf("%v is written %s, not %s", value, got, want)
		}
	}
}
