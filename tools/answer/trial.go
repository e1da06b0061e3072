package answer

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"understudy/internal/phrase"
	"understudy/sessions"
)

// longestWhy is how many characters of the reason why a trial is buggy are shown:
// the traceback is there, too.
const longestWhy = 300

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
	end := ""
	if t.Steps > 0 && t.Number >= t.Steps {
		end = " The planned trials are used up: end with the best one."
	}
	return fmt.Sprintf("[trial %s] %s: %s. %s.%s", number, lineageOf(t), outcomeOf(t), bestOf(t), end)
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
		measured = Clip(t.Name, 60) + " = " + metricText(*t.Metric)
	}
	switch {
	case t.Buggy:
		return "buggy, " + cmp.Or(strings.TrimRight(Clip(OneLine(t.Why), longestWhy), "."), "it failed")
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
	switch magnitude := math.Abs(value); {
	case magnitude == 0:
		return "0" // without a sign
	case magnitude >= 1e5 && magnitude < 1e15:
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
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
		r.Stop = fmt.Sprintf("Still buggy after %s in a row: give this line up; improve the best trial, or draft something else.", phrase.Count(t.Depth, "debug"))
	}
	return &r
}
