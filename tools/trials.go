package tools

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/text/unicode/norm"

	"understudy/schemas"
	"understudy/sessions"
)

const (
	longestPlan = 10_000 // characters
	// longestWhy is how many characters of the reason why a trial is buggy are shown:
	// the traceback is there, too.
	longestWhy = 300
)

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
		args, err := decode(b.runArgs, request)
		return args, nil, withoutTrials(err)
	}
	args, err := decode(b.trialArgs, request)
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
			"argument \"maximize\" is required with metric_var_name: true if more of %s is better (accuracy), false if less is (an error, a loss)", clip(a.MetricVarName, 60))}
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

// tellsOfTrials is what run_python_code's description says of them.
func (o Options) tellsOfTrials() string {
	if !o.Trials {
		return ""
	}
	return "In an experiment, give each attempt a plan and a metric_var_name: it is then a trial, and the answer says what it goes on from, whether it is buggy, its metric, and which is the best so far."
}

// trial is the line about a trial that has ended, and the best one so far.
func (v view) trial() string {
	t := v.Trial
	if t == nil {
		return ""
	}
	number := strconv.Itoa(t.Number)
	switch {
	case t.Number > t.Steps && t.Steps > 0:
		number += fmt.Sprintf(", past the %d", t.Steps)
	case t.Steps > 0:
		number += fmt.Sprintf(" of %d", t.Steps)
	}
	return fmt.Sprintf("[trial %s] %s: %s. %s.%s", number, lineageOf(t), outcomeOf(t), bestOf(t), endOf(t))
}

// endOf says when the trials that were planned are used up.
func endOf(t *sessions.TrialReport) string {
	if t.Steps == 0 || t.Number < t.Steps {
		return ""
	}
	return " The planned trials are used up: end with the best one."
}

// lineageOf says what a trial goes on from.
func lineageOf(t *sessions.TrialReport) string {
	switch {
	case t.Parent == 0:
		return t.Stage
	case t.Depth > 1:
		return fmt.Sprintf("%s of trial %d (%d in a row)", t.Stage, t.Parent, t.Depth)
	}
	return fmt.Sprintf("%s of trial %d", t.Stage, t.Parent)
}

// outcomeOf says what a trial came to.
func outcomeOf(t *sessions.TrialReport) string {
	var measured string
	if t.Metric != nil {
		measured = clip(t.Name, 60) + " = " + metricText(*t.Metric)
	}
	switch {
	case t.Buggy:
		why := strings.TrimRight(clip(oneLine(t.Why), longestWhy), ".")
		if why == "" {
			why = "it failed"
		}
		return "buggy, " + why
	case measured == "":
		return "done, nothing was measured"
	case t.Maximize != nil && *t.Maximize:
		return measured + " (more is better)"
	case t.Maximize != nil:
		return measured + " (less is better)"
	}
	return measured
}

// bestOf names the best trial so far, so that it can be branched from.
func bestOf(t *sessions.TrialReport) string {
	switch best := t.Best; {
	case best == nil:
		return "No trial has a metric so far"
	case best.Number == t.Number:
		return "It is the best so far"
	default:
		gone := ""
		if best.Gone {
			gone = " (which has gone on or ended)"
		}
		return fmt.Sprintf("Best so far: trial %d with %s, execution %d in interpreter %s%s",
			best.Number, metricText(best.Metric), best.Execution, best.InterpreterID, gone)
	}
}

// metricText writes a number for a reader, with six digits that matter; the record
// has all.
func metricText(value float64) string {
	magnitude := math.Abs(value)
	if magnitude == 0 {
		value = 0 // without a sign
	}
	if magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e15) || math.IsNaN(value) || math.IsInf(value, 0) {
		return shortest(strconv.FormatFloat(value, 'g', 6, 64))
	}
	decimals := 0
	if magnitude != 0 {
		decimals = max(0, 5-int(math.Floor(math.Log10(magnitude))))
	}
	return shortest(strconv.FormatFloat(value, 'f', decimals, 64))
}

// shortest takes the zeros off the end of a fraction.
func shortest(number string) string {
	mantissa, exponent, _ := strings.Cut(number, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if exponent != "" {
		mantissa += "e" + exponent
	}
	return mantissa
}

// advised has the answer to a trial give an experiment's advice instead of that for
// runs: what fails there is not for the user to mend, and a line that can't be mended
// is given up for another one.
func advised(result *sessions.Result, search sessions.Search) *sessions.Result {
	if result.Trial == nil {
		return result
	}
	r := *result
	r.Stop = ""
	if t := r.Trial; t.Buggy && t.Depth >= search.DebugDepth {
		r.Stop = fmt.Sprintf("Still buggy after %s in a row: give this line up; improve the best trial, or draft something else.", sessions.Counted(t.Depth, "debug"))
	}
	return &r
}
