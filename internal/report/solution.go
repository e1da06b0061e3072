package report

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"understudy/internal/journal"
	"understudy/sessions"
)

// metricHelper tells of the metric at the end.
//
//go:embed solution_metric.py
var metricHelper string

// solution is best_solution.py: what was run from the first execution to the best
// trial, and its metric printed at the end.
func solution(x *Experiment) string {
	best := x.Best
	trial := best.Trial
	head := []string{
		fmt.Sprintf("Best solution: trial %d of run %s, %s = %s (%s is better).",
			trial.Number, x.Run.ID, trial.MetricName, number(*trial.Metric), direction(trial.Maximize)),
		"",
	}
	if x.Run.Workspace != "" {
		head = append(head, "Made in "+x.Run.Workspace+"; run it in such a directory, with the same input/.")
	} else {
		head = append(head, "Run it in a directory that has the files which it reads.")
	}
	if x.Run.Python != "" {
		head = append(head, "Python was "+x.Run.Python+".")
	}
	script := PlainPython(strings.Join(head, "\n"), Cells(x.Line))
	if !identifier.MatchString(trial.MetricName) {
		return script
	}
	return script + fmt.Sprintf("\n\n# %%%% The metric\n%s\n\nunderstudy_metric(%s, %s, %s)\n", metricHelper,
		pythonString(trial.MetricName), trial.MetricName, strconv.FormatFloat(*trial.Metric, 'g', -1, 64))
}

var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// direction says which values are better.
func direction(maximize bool) string {
	if maximize {
		return "higher"
	}
	return "lower"
}

// placeName names where an execution stands, as agents and exports do: 3fa9…@7.
func placeName(e journal.Execution) string {
	return fmt.Sprintf("%s@%d", shortID(e.Place.InterpreterID), e.Place.Execution)
}

// failure says in some words how an execution that did not end well ended.
func failure(e journal.Execution) string {
	if e.Detail != nil && e.Detail.Record.ExcType != "" {
		return e.Detail.Record.ExcType
	}
	switch e.Status {
	case sessions.StatusTimeout:
		return "time limit"
	case sessions.StatusError:
		if e.Kind == sessions.RunsCommand && e.Detail != nil && e.Detail.Record.ExitCode != nil {
			return fmt.Sprintf("exit code %d", *e.Detail.Record.ExitCode)
		}
		return "an exception"
	case journal.StatusLost:
		return "its server was killed"
	}
	return string(e.Status)
}
