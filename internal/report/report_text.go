package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// What of the journal stands in report.md at most; journal.json has all of it.
const (
	reportTask     = 4_000
	reportCode     = 20_000 // bytes of one execution's code
	reportOutput   = 2_000
	reportRows     = 500 // of a table
	reportFailures = 20  // of one kind
	planInTable    = 80  // characters
)

//go:embed report.md.tmpl
var reportSource string

var reportTemplate = template.Must(template.New("report.md").Funcs(template.FuncMap{
	"inline": inline, "code": inlineCode, "quoted": quoted, "fenced": fenced, "count": sessions.Counted, "times": times,
	"number": func(value *float64) string { return number(*value) },
	"short":  func(text string, characters int) string { return inline(cutLine(text, characters)) },
	"place":  placeName, "took": took, "outcome": outcome, "change": change,
	"codeOf": func(e journal.Execution) string { return shorten(shownCode(newCell(e).Code), reportCode) },
	"output": shownOutputOf,
}).Parse(reportSource))

// Text is the report without its figures.
func Text(x *Experiment) (string, error) {
	text, err := reportText(x, nil)
	return string(text), err
}

// reportText is the file report.md; figures are the files beside it, by execution.
func reportText(x *Experiment, figures map[int64][]string) ([]byte, error) {
	p := &reportPage{Experiment: x, byID: map[int64]*journal.Execution{}, files: figures}
	p.Metric, p.maximize = x.metric()
	for i := range x.Executions {
		p.byID[x.Executions[i].ID] = &x.Executions[i]
	}
	var text bytes.Buffer
	if err := reportTemplate.Execute(&text, p); err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return text.Bytes(), nil
}

// reportPage is what the template asks. Its texts are Markdown where they say whole
// sentences.
type reportPage struct {
	*Experiment
	Metric   string // "" where nothing was to be measured
	maximize bool
	byID     map[int64]*journal.Execution
	files    map[int64][]string // of figures that could be copied
}

func (p *reportPage) Trials() bool      { return p.Name != "" }
func (p *reportPage) Search() string    { return p.policy() }
func (p *reportPage) Direction() string { return direction(p.maximize) }

// Heading is the experiment's title as part of a sentence.
func (p *reportPage) Heading() string {
	if rest, isRun := strings.CutPrefix(p.title(), "Run "); isRun {
		return "run " + rest
	}
	return p.title()
}

func (p *reportPage) Task() string { return shorten(strings.TrimSpace(p.Run.Task), reportTask) }

// Stages counts trials by their stage, of the stages that there were.
func (p *reportPage) Stages() string {
	var parts []string
	for _, stage := range [][3]string{
		{sessions.StageDraft, "draft"}, {sessions.StageDebug, "debugging", " of code that failed"},
		{sessions.StageImprove, "improvement", " of what worked"},
	} {
		n := 0
		for _, e := range p.Executions {
			if e.Trial.Stage == stage[0] {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, sessions.Counted(n, stage[1])+stage[2])
		}
	}
	if last := len(parts) - 1; last > 0 {
		parts = append(parts[:last-1], parts[last-1]+" and "+parts[last])
	}
	return strings.Join(parts, ", ")
}

func (p *reportPage) HowManyFailed() string {
	buggy := 0
	for _, e := range p.Executions {
		if e.Trial.Buggy {
			buggy++
		}
	}
	switch buggy {
	case 0:
		return "None of them failed."
	case 1:
		return "One of them failed."
	}
	return fmt.Sprintf("%d of them failed.", buggy)
}

// OtherMetrics are the names that some trials measure instead.
func (p *reportPage) OtherMetrics() string {
	others := p.otherMetrics()
	for i, other := range others {
		others[i] = inlineCode(other)
	}
	return strings.Join(others, ", ")
}

func (p *reportPage) Begun() string { return p.Run.Started.UTC().Format("2006-01-02 15:04 MST") }

// Lasted is from the first execution's start to the last end, "" where none has ended.
func (p *reportPage) Lasted() string {
	var first, last time.Time
	for _, e := range p.Executions {
		if first.IsZero() || e.Started.Before(first) {
			first = e.Started
		}
		if end := e.Started.Add(e.ExecTime); end.After(last) {
			last = end
		}
	}
	if !last.After(first) {
		return ""
	}
	return shortDuration(last.Sub(first))
}

// Preparation is what led to the best trial and is no trial itself.
func (p *reportPage) Preparation() []journal.Execution {
	return slices.DeleteFunc(slices.Clone(p.Line), func(e journal.Execution) bool { return e.Trial != nil })
}

// Listed are the executions that stand in lists, More how many do not.
func (p *reportPage) Listed() []journal.Execution {
	return p.Executions[:min(reportRows, len(p.Executions))]
}

func (p *reportPage) More() int { return len(p.Executions) - len(p.Listed()) }

// From is the number of the trial that one goes on from, 0 for a draft.
func (p *reportPage) From(e journal.Execution) any {
	if parent := p.byID[e.Trial.Parent]; parent != nil {
		return parent.Trial.Number
	}
	return ""
}

// step is a trial on the way to the best, and what it changed of the metric.
type step struct {
	journal.Execution
	Difference string
}

// Way is by which trials the best one came to be, nil if it is a draft.
func (p *reportPage) Way() []step {
	var way []step
	for e := p.Best; e != nil; e = p.byID[e.Trial.Parent] {
		way = append(way, step{Execution: *e})
	}
	if len(way) < 2 {
		return nil
	}
	slices.Reverse(way)
	var before *float64
	for i, s := range way {
		if s.Trial.Metric != nil && s.Trial.MetricName == p.Metric {
			if before != nil {
				way[i].Difference = fmt.Sprintf("%+.4g", *s.Trial.Metric-*before)
			}
			before = s.Trial.Metric
		}
	}
	return way
}

func change(e journal.Execution) string {
	return inline(cutLine(firstLine(e.Trial.Plan), planInTable))
}

// Measured is a trial's metric below the name of the experiment's. One of another
// name is named.
func (p *reportPage) Measured(e journal.Execution) string {
	switch {
	case e.Trial.Metric == nil:
		return ""
	case e.Trial.MetricName != p.Metric:
		return inline(e.Trial.MetricName) + " = " + number(*e.Trial.Metric)
	}
	return number(*e.Trial.Metric)
}

func (p *reportPage) IsBest(e journal.Execution) bool { return p.Best != nil && e.ID == p.Best.ID }

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

// Ended is the outcome without the time.
func (p *reportPage) Ended(e journal.Execution) string {
	said, _, _ := strings.Cut(outcome(e), ", "+shortDuration(e.ExecTime))
	return said
}

// shownOutputOf is the beginning and the end of what an execution printed.
func shownOutputOf(e journal.Execution) string {
	if e.Detail == nil {
		return ""
	}
	text := strings.TrimLeft(readable(strings.Join(e.Detail.TermOut, "")), "\n") // its indentation stays
	return shorten(strings.TrimRight(text, " \t\n"), reportOutput)
}
