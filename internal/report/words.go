package report

import (
	"fmt"
	"strconv"

	"understudy/internal/journal"
	"understudy/internal/phrase"
	"understudy/sessions"
)

// took says how long an execution ran, "" where that is not known.
func took(e journal.Execution) string {
	switch {
	case e.Status == sessions.StatusRunning, e.Status == journal.StatusLost && e.ExecTime == 0:
		return ""
	case e.Status == journal.StatusLost:
		return phrase.Short(e.ExecTime) + " at least"
	}
	return phrase.Short(e.ExecTime)
}

// number writes a metric as people read it: six digits that count, no zeros behind.
func number(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }

// shortID is the beginning of an interpreter's id that tells it from others, the name
// in it with that. The command export takes it.
func shortID(id string) string {
	const random = 8 // characters
	length := random
	if name := sessions.NameOf(id); name != id {
		length += len(name) + len("-")
	}
	return id[:min(length, len(id))]
}

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

// state says how an execution stands: running, buggy or good.
func state(e journal.Execution) string {
	switch {
	case e.Status == sessions.StatusRunning:
		return "running"
	case e.Trial != nil && e.Trial.Buggy, e.Trial == nil && e.Status != sessions.StatusOK:
		return "buggy"
	}
	return "good"
}
