package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/text/unicode/norm"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

const longestPlan = 10_000 // characters

// RunTrialArgs are the arguments of run_python_code where runs can be trials of an
// experiment.
type RunTrialArgs struct {
	RunPythonCodeArgs

	Plan          string `json:"plan,omitempty" jsonschema_description:"Makes the run a trial: what it tries and why, in a few sentences."`
	Analysis      string `json:"analysis,omitempty" jsonschema_description:"What earlier trials have shown that leads to this one."`
	MetricVarName string `json:"metric_var_name,omitempty" jsonschema_description:"Makes the run a trial measured by this variable, a finite number that this very code assigns."`
	Maximize      *bool  `json:"maximize,omitempty" jsonschema_description:"Required with metric_var_name: true if more of it is better, false if less."`
}

// forTrials are the arguments that only trials have.
var forTrials = []string{"plan", "analysis", "metric_var_name", "maximize"}

// runArguments reads the arguments of a call: what to run, and what makes it a trial,
// nil if nothing does.
func (b *toolbox) runArguments(request mcp.CallToolRequest) (RunPythonCodeArgs, *sessions.Trial, error) {
	if !b.Trials {
		args, err := decode(runArgs, request)
		return args, nil, withoutTrials(err)
	}
	args, err := decode(trialArgs, request)
	if err != nil {
		return args.RunPythonCodeArgs, nil, err
	}
	trial, err := args.trial()
	return args.RunPythonCodeArgs, trial, err
}

// withoutTrials has an error say why an argument of trials is unknown.
func withoutTrials(err error) error {
	var unknown *schemas.ArgumentError
	if errors.As(err, &unknown) && slices.Contains(forTrials, unknown.Argument) {
		return &schemas.ArgumentError{Argument: unknown.Argument, Message: fmt.Sprintf(
			"argument %q needs a server started with --trials; leave it out, nothing was run", unknown.Argument)}
	}
	return err
}

// trial returns what makes the run a trial, nil if nothing does.
func (a RunTrialArgs) trial() (*sessions.Trial, error) {
	plan, analysis := strings.TrimSpace(a.Plan), strings.TrimSpace(a.Analysis)
	for name, text := range map[string]string{"plan": plan, "analysis": analysis} {
		if n := utf8.RuneCountInString(text); n > longestPlan {
			return nil, &schemas.ArgumentError{Argument: name, Message: fmt.Sprintf(
				"argument %q may have %s characters, not %s; a few sentences say what the trial tries and why", name, humanize.Comma(longestPlan), humanize.Comma(int64(n)))}
		}
	}
	switch {
	case a.MetricVarName == "" && a.Maximize != nil && *a.Maximize: // false is what a model fills in
		return nil, &schemas.ArgumentError{Argument: "maximize", Message: `argument "maximize" is about a metric: name its variable in metric_var_name, or leave maximize out`}
	case a.MetricVarName != "" && a.Maximize == nil:
		return nil, &schemas.ArgumentError{Argument: "maximize", Message: fmt.Sprintf(
			"argument \"maximize\" is required with metric_var_name: true if more of %s is better (accuracy), false if less is (an error, a loss)", answer.Clip(a.MetricVarName, 60))}
	case a.MetricVarName == "" && plan == "" && analysis != "":
		return nil, &schemas.ArgumentError{Argument: "analysis", Message: `argument "analysis" belongs to a trial: say in plan what this one tries, or leave analysis out`}
	case a.MetricVarName == "" && plan == "":
		return nil, nil
	}
	if err := checkVariable("metric_var_name", "score", a.MetricVarName); err != nil {
		return nil, err
	}
	// Python stores names in their normal form.
	return &sessions.Trial{Plan: plan, Analysis: analysis, MetricVarName: norm.NFKC.String(a.MetricVarName), Maximize: a.Maximize != nil && *a.Maximize}, nil
}

// aboutTrials is what run_python_code's description says of them.
const aboutTrials = "In an experiment, give each attempt a plan and a metric_var_name: it is then a trial, and the answer says what it goes on from, whether it is buggy, its metric, and which is the best so far."
