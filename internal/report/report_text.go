package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"understudy/internal/journal"
	"understudy/sessions"
)

// What of the journal stands in report.md at most; journal.json has all of it.
const (
	reportTask   = 4_000
	reportCode   = 20_000 // bytes of one execution's code
	reportOutput = 2_000
	reportRows   = 500 // of a table
	planInTable  = 80  // characters
)

// writer writes report.md.
type writer struct {
	strings.Builder
	x       *Experiment
	byID    map[int64]*journal.Execution
	figures map[int64][]string // files that could be copied, by execution
}

// Text is the report without its figures.
func Text(x *Experiment) string { return reportText(x, nil) }

// reportText is the file report.md; figures are the files beside it, by execution.
func reportText(x *Experiment, figures map[int64][]string) string {
	w := &writer{x: x, byID: map[int64]*journal.Execution{}, figures: figures}
	for i := range x.Executions {
		w.byID[x.Executions[i].ID] = &x.Executions[i]
	}
	w.introduction()
	w.preprocessing()
	w.methods()
	w.results()
	w.futureWork()
	return w.String()
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) preprocessing() {
	w.line("## Preprocessing\n")
	var before []journal.Execution
	for _, e := range w.x.Line {
		if e.Trial == nil {
			before = append(before, e)
		}
	}
	switch {
	case w.x.Name == "":
		w.line("The journal does not tell preparation from the rest in a run without trials; all that ran is below.\n")
		return
	case w.x.Best == nil:
		w.line("There is no best trial whose preparation could be shown.\n")
		return
	case len(before) == 0:
		w.line("The best trial prepares its data itself: nothing else ran on the way to it.\n")
		return
	}
	w.line("What ran on the way to the best trial and is no trial itself, as it loads or prepares what trials use:\n")
	for _, e := range before {
		w.line("%s, %s:\n", inlineCode(placeName(e)), outcome(e))
		w.line("%s", fenced("python", shorten(shownCode(cellCode(e)), reportCode)))
		w.output(e)
	}
}

// output shows the beginning and the end of what an execution printed.
func (w *writer) output(e journal.Execution) {
	if e.Detail == nil {
		return
	}
	text := readable(strings.Join(e.Detail.TermOut, ""))
	if text = strings.TrimRight(strings.TrimLeft(text, "\n"), " \t\n"); text != "" { // the first line keeps its indentation
		w.line("%s", fenced("text", shorten(text, reportOutput)))
	}
}

func (w *writer) methods() {
	w.line("## Modelling Methods\n")
	if w.x.Name == "" {
		for i, e := range w.x.Executions {
			if i == reportRows {
				w.line("And %d more; journal.json has them.\n", len(w.x.Executions)-i)
				break
			}
			w.line("### %s: %s\n", inline(placeName(e)), outcome(e))
			w.line("%s", fenced("python", shorten(shownCode(cellCode(e)), reportCode)))
			w.output(e)
		}
		return
	}
	for i, e := range w.x.Executions {
		if i == reportRows {
			w.line("And %d more; journal.json has them.", len(w.x.Executions)-i)
			break
		}
		from := ""
		if parent := w.byID[e.Trial.Parent]; parent != nil {
			from = fmt.Sprintf(" of trial %d", parent.Trial.Number)
		}
		w.line("%d. **%s%s:** %s", e.Trial.Number, e.Trial.Stage, from, planOf(e))
		if analysis := inline(cutLine(e.Trial.Analysis, 600)); analysis != "" {
			w.line("   What had been found: %s", analysis)
		}
	}
	w.line("")
	w.bestSolution()
}

// planOf is a trial's plan on one line.
func planOf(e journal.Execution) string {
	if plan := inline(cutLine(e.Trial.Plan, 600)); plan != "" {
		return plan
	}
	return "*no plan was given*"
}

// bestSolution tells by which changes the best trial came to be, and shows its code.
func (w *writer) bestSolution() {
	best := w.x.Best
	if best == nil {
		return
	}
	w.line("### Best solution: trial %d\n", best.Trial.Number)
	if strings.TrimSpace(best.Trial.Plan) != "" {
		w.line("%s", quoted(best.Trial.Plan))
	}
	var way []*journal.Execution
	for e := best; e != nil; e = w.byID[e.Trial.Parent] {
		way = append(way, e)
	}
	slices.Reverse(way)
	if len(way) > 1 {
		w.line("It came to be in these steps:\n\n| Trial | Stage | Change | %s | Difference |\n| ---: | --- | --- | ---: | ---: |", inline(best.Trial.MetricName))
		var before *float64
		for _, e := range way {
			difference := ""
			if e.Trial.Metric != nil && e.Trial.MetricName == best.Trial.MetricName {
				if before != nil {
					difference = fmt.Sprintf("%+.4g", *e.Trial.Metric-*before)
				}
				before = e.Trial.Metric
			}
			w.line("| %d | %s | %s | %s | %s |", e.Trial.Number, e.Trial.Stage, planCell(e), w.metricCell(e), difference)
		}
		w.line("")
	}
	w.line("The code of its last step; best_solution.py is all of it, ready to run:\n")
	w.line("%s", fenced("python", shorten(shownCode(cellCode(*best)), reportCode)))
	w.output(*best)
}

func planCell(e *journal.Execution) string {
	return inline(cutLine(firstLine(e.Trial.Plan), planInTable))
}

// metricCell is a trial's metric below the name of the experiment's. One of another
// name is named.
func (w *writer) metricCell(e *journal.Execution) string {
	if e.Trial.Metric == nil {
		return ""
	}
	if name, _ := w.x.metric(); e.Trial.MetricName != name {
		return inline(e.Trial.MetricName) + " = " + number(*e.Trial.Metric)
	}
	return number(*e.Trial.Metric)
}

// outcome says in some words how an execution ended.
func outcome(e journal.Execution) string {
	switch {
	case e.Status == sessions.StatusRunning:
		return "running"
	case e.Trial != nil && e.Trial.Buggy:
		return "buggy: " + inline(cutLine(cmp.Or(e.Trial.Why, failure(e)), 120))
	case e.Status != sessions.StatusOK:
		return inline(failure(e))
	}
	return "ok, " + shortDuration(e.ExecTime)
}

func (w *writer) results() {
	w.line("## Results Discussion\n")
	if w.x.Name == "" {
		w.failures()
		w.showFigures()
		return
	}
	if name, _ := w.x.metric(); name != "" {
		w.line("![%s over the trials, with the best so far](metric.svg)\n", inline(name))
	}
	name, _ := w.x.metric()
	w.line("| Trial | Stage | From | Plan | %s | Time | Outcome |\n| ---: | --- | ---: | --- | ---: | ---: | --- |", cmp.Or(inline(name), "Metric"))
	for i, e := range w.x.Executions {
		if i == reportRows {
			break
		}
		w.row(&e)
	}
	w.line("")
	if more := len(w.x.Executions) - reportRows; more > 0 {
		w.line("And %d more; journal.json has them.\n", more)
	}
	w.failures()
	w.showFigures()
}

func (w *writer) row(e *journal.Execution) {
	from, metric, ended := "", w.metricCell(e), outcome(*e)
	if parent := w.byID[e.Trial.Parent]; parent != nil {
		from = fmt.Sprint(parent.Trial.Number)
	}
	if !e.Trial.Buggy && e.Status == sessions.StatusOK {
		ended = "ok"
	}
	if w.x.Best != nil && e.ID == w.x.Best.ID {
		metric, ended = "**"+metric+"**", "**best**"
	}
	w.line("| %d | %s | %s | %s | %s | %s | %s |", e.Trial.Number, e.Trial.Stage, from, planCell(e), metric, took(*e), ended)
}

// failures tells of what failed by the kind of failure, and what mended it.
func (w *writer) failures() {
	groups := map[string][]*journal.Execution{}
	var kinds []string
	for i := range w.x.Executions {
		e := &w.x.Executions[i]
		if state(*e) != "buggy" {
			continue
		}
		kind := failureKind(*e)
		if groups[kind] == nil {
			kinds = append(kinds, kind)
		}
		groups[kind] = append(groups[kind], e)
	}
	if len(kinds) == 0 {
		return
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(len(groups[b]), len(groups[a])) })
	w.line("### What failed\n")
	for _, kind := range kinds {
		w.line("- **%s**, %s:", inline(kind), times(len(groups[kind])))
		for i, e := range groups[kind] {
			if i == 20 {
				w.line("  - and %d more", len(groups[kind])-i)
				break
			}
			w.line("  - %s%s", w.whatFailed(e), w.mended(e))
		}
	}
	w.line("")
}

// failureKind is what failures are grouped by.
func failureKind(e journal.Execution) string {
	if e.Status == sessions.StatusOK {
		return "no usable metric"
	}
	return failure(e)
}

func (w *writer) whatFailed(e *journal.Execution) string {
	if e.Trial == nil {
		return inlineCode(placeName(*e)) + ": " + inline(cutLine(lastLine(e), 200))
	}
	return fmt.Sprintf("trial %d: %s", e.Trial.Number, inline(cutLine(cmp.Or(e.Trial.Why, lastLine(e)), 200)))
}

// lastLine is the line of a traceback that says what went wrong.
func lastLine(e *journal.Execution) string {
	if e.Detail == nil {
		return ""
	}
	text := strings.TrimSpace(e.Detail.Record.Traceback)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// mended says what came of debugging a trial.
func (w *writer) mended(failed *journal.Execution) string {
	if failed.Trial == nil {
		return ""
	}
	tried := 0
	for i := range w.x.Executions {
		e := &w.x.Executions[i]
		if e.Trial.Parent != failed.ID {
			continue
		}
		tried++
		if !e.Trial.Buggy {
			return strings.TrimRight(fmt.Sprintf("; trial %d mended it: %s", e.Trial.Number, planCell(e)), ": ")
		}
	}
	if tried > 0 {
		return "; " + count(tried, "trial") + " that went on from it failed too"
	}
	return "; nothing went on from it"
}

func (w *writer) showFigures() {
	shown := 0
	for _, e := range w.x.Executions {
		for _, file := range w.figures[e.ID] {
			if shown == 0 {
				w.line("### Figures\n")
			}
			shown++
			what := placeName(e)
			if e.Trial != nil {
				what = fmt.Sprintf("Trial %d", e.Trial.Number)
			}
			w.line("![%s](%s)\n", inline(what), file)
		}
	}
}

// futureWork says what the journal shows to be open.
func (w *writer) futureWork() {
	w.line("## Future Work\n")
	open := w.open()
	if len(open) == 0 {
		w.line("The journal shows nothing that was left open.")
		return
	}
	for _, each := range open {
		w.line("- %s", each)
	}
}

func (w *writer) open() []string {
	if w.x.Name == "" {
		return nil
	}
	var open []string
	if left := w.x.Run.Steps - len(w.x.Executions); left > 0 {
		open = append(open, fmt.Sprintf("%s of the %d planned are left.", count(left, "trial"), w.x.Run.Steps))
	}
	followed := map[int64]bool{}
	for _, e := range w.x.Executions {
		followed[e.Trial.Parent] = true
	}
	if best := w.x.Best; best != nil && !followed[best.ID] {
		open = append(open, fmt.Sprintf("Trial %d, the best, has not been improved on yet.", best.Trial.Number))
	}
	var unmended, untried []string
	for _, e := range w.x.Executions {
		isBest := w.x.Best != nil && e.ID == w.x.Best.ID
		switch {
		case followed[e.ID] || isBest:
		case e.Trial.Buggy:
			unmended = append(unmended, fmt.Sprint(e.Trial.Number))
		case e.Trial.Metric != nil && e.Trial.Stage == sessions.StageDraft:
			untried = append(untried, fmt.Sprint(e.Trial.Number))
		}
	}
	if len(unmended) > 0 {
		open = append(open, "Failed, and nobody debugged it: "+numbered(unmended)+".")
	}
	if len(untried) > 0 {
		open = append(open, "Drafts that work, and were not improved: "+numbered(untried)+".")
	}
	return open
}

func numbered(numbers []string) string {
	word := "trials "
	if len(numbers) == 1 {
		word = "trial "
	}
	more := ""
	if len(numbers) > 30 {
		more = fmt.Sprintf(" and %d more", len(numbers)-30)
		numbers = numbers[:30]
	}
	return word + strings.Join(numbers, ", ") + more
}
