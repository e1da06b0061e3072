package report

import (
	"fmt"
	"strings"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

func (w *writer) introduction() {
	run := w.x.Run
	title := w.x.title()
	if rest, isRun := strings.CutPrefix(title, "Run "+run.ID); isRun {
		title = "run " + run.ID + rest
	}
	w.line("# Report on %s\n\n## Introduction\n", inline(title))
	if task := strings.TrimSpace(run.Task); task != "" && w.x.Name != "" {
		w.line("The task was:\n\n%s", quoted(shorten(task, reportTask)))
	}
	if w.x.Name == "" {
		w.line("This run executed code %s; none of it was a trial of an experiment.", times(len(w.x.Executions)))
	} else {
		w.line("%s", w.purpose())
	}
	w.line("\n- Begun: %s", run.Started.UTC().Format("2006-01-02 15:04 MST"))
	if first, last := span(w.x.Executions); last.After(first) {
		w.line("- From the first execution to the end of the last: %s", shortDuration(last.Sub(first)))
	}
	for _, fact := range [][2]string{{"Python", run.Python}, {"understudy", run.Version}, {"Workspace", run.Workspace}, {"Search", w.x.policy()}} {
		if fact[1] != "" {
			w.line("- %s: %s", fact[0], inline(fact[1]))
		}
	}
	w.line("")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// purpose says what the trials were after, and what came of them.
func (w *writer) purpose() string {
	stages, buggy := map[string]int{}, 0
	for _, e := range w.x.Executions {
		stages[e.Trial.Stage]++
		if e.Trial.Buggy {
			buggy++
		}
	}
	text := fmt.Sprintf("This experiment made %s", count(len(w.x.Executions), "trial"))
	if w.x.Run.Steps > 0 {
		text += fmt.Sprintf(" of the %d that were planned", w.x.Run.Steps)
	}
	text += ": " + inStages(stages) + "." + failed(buggy)
	name, maximize := w.x.metric()
	switch {
	case name == "":
		return text + " Nothing was measured."
	case w.x.Best == nil:
		return text + fmt.Sprintf(" %s was to be measured (%s is better), and no trial gave a value.", inlineCode(name), direction(maximize))
	}
	if others := w.x.otherMetrics(); len(others) > 0 {
		for i, other := range others {
			others[i] = inlineCode(other)
		}
		text += fmt.Sprintf(" Some of them measure %s instead.", strings.Join(others, ", "))
	}
	return text + fmt.Sprintf(" They are measured by %s, of which %s is better. The best is trial %d with %s.",
		inlineCode(name), direction(maximize), w.x.Best.Trial.Number, number(*w.x.Best.Trial.Metric))
}

// inStages counts trials by their stage, of the stages that there were.
func inStages(trials map[string]int) string {
	var parts []string
	for _, stage := range [][3]string{
		{sessions.StageDraft, "draft"}, {sessions.StageDebug, "debugging", " of code that failed"}, {sessions.StageImprove, "improvement", " of what worked"},
	} {
		if n := trials[stage[0]]; n > 0 {
			parts = append(parts, count(n, stage[1])+stage[2])
		}
	}
	if last := len(parts) - 1; last > 0 {
		parts = append(parts[:last-1], parts[last-1]+" and "+parts[last])
	}
	return strings.Join(parts, ", ")
}

// failed says in a sentence how many trials failed.
func failed(trials int) string {
	switch trials {
	case 0:
		return " None of them failed."
	case 1:
		return " One of them failed."
	}
	return fmt.Sprintf(" %d of them failed.", trials)
}

// span is from the first execution's start to the last end.
func span(executions []journal.Execution) (first, last time.Time) {
	for _, e := range executions {
		if first.IsZero() || e.Started.Before(first) {
			first = e.Started
		}
		if end := e.Started.Add(e.ExecTime); end.After(last) {
			last = end
		}
	}
	return first, last
}
