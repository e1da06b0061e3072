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
	"understudy/internal/phrase"
	"understudy/sessions"
)

// What of the journal stands in report.md at most; journal.json has all of it.
const (
	reportTask   = 4_000
	reportCode   = 20_000 // bytes of one execution's code
	reportOutput = 2_000
	planInTable  = 80 // characters
)

//go:embed report.md.tmpl
var reportSource string

var reportTemplate = template.Must(template.New("report.md").Funcs(template.FuncMap{
	"inline": inline, "code": inlineCode, "quoted": quoted, "fenced": fenced, "count": phrase.Count,
	"short":  func(text string, characters int) string { return inline(cutLine(text, characters)) },
	"number": func(value *float64) string { return number(*value) },
	"place":  placeName, "took": took, "duration": phrase.Short, "outcome": outcome, "change": change,
	"codeOf": func(e journal.Execution) string { return shorten(shownCode(commented(newCell(e))), reportCode) },
	"output": printedOutput, "toolCounts": toolCounts, "direction": direction, "numbered": numbered,
	"first": func(limit int, all []journal.Execution) []journal.Execution { return all[:min(limit, len(all))] },
	"above": func(limit int, all []journal.Execution) int { return max(0, len(all)-limit) },
	"times": func(n int) string {
		if n == 1 {
			return "once"
		}
		return fmt.Sprintf("%d times", n)
	},
}).Parse(reportSource))

// Text is the report without its figures.
func Text(x *Experiment) (string, error) {
	text, err := reportText(x, nil)
	return string(text), err
}

// reportText is the file report.md; figures are the files beside it, by execution.
func reportText(x *Experiment, figures map[int64][]string) ([]byte, error) {
	p := &reportPage{Experiment: x, Figures: figures, byID: map[int64]*journal.Execution{}, children: map[int64][]journal.Execution{}}
	p.Metric, p.Maximize = x.metric()
	for i, e := range x.Executions {
		p.byID[e.ID] = &x.Executions[i]
		if e.Trial != nil {
			p.children[e.Trial.Parent] = append(p.children[e.Trial.Parent], e)
		}
	}
	var text bytes.Buffer
	if err := reportTemplate.Execute(&text, p); err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return text.Bytes(), nil
}

// reportPage is what the template asks.
type reportPage struct {
	*Experiment
	Metric   string // "" where nothing was to be measured
	Maximize bool
	Figures  map[int64][]string // files that could be copied, by execution
	byID     map[int64]*journal.Execution
	children map[int64][]journal.Execution // trials, by the one that they go on from
}

// Heading is the experiment's title as part of a sentence.
func (p *reportPage) Heading() string {
	if rest, isRun := strings.CutPrefix(p.title(), "Run "); isRun {
		return "run " + rest
	}
	return p.title()
}

func (p *reportPage) Search() string { return p.policy() }

func (p *reportPage) Task() string { return shorten(strings.TrimSpace(p.Run.Task), reportTask) }

// Stages counts trials by their stage, of the stages that there were.
func (p *reportPage) Stages() string {
	trials := map[string]int{}
	for _, e := range p.Executions {
		trials[e.Trial.Stage]++
	}
	var parts []string
	for _, stage := range [][3]string{
		{sessions.StageDraft, "draft"}, {sessions.StageDebug, "debugging", " of code that failed"},
		{sessions.StageImprove, "improvement", " of what worked"},
	} {
		if n := trials[stage[0]]; n > 0 {
			parts = append(parts, phrase.Count(n, stage[1])+stage[2])
		}
	}
	if last := len(parts) - 1; last > 0 {
		parts = append(parts[:last-1], parts[last-1]+" and "+parts[last])
	}
	return strings.Join(parts, ", ")
}

// Buggy are the trials that failed.
func (p *reportPage) Buggy() []journal.Execution {
	return only(p.Executions, func(e journal.Execution) bool { return e.Trial.Buggy })
}

func only(all []journal.Execution, is func(journal.Execution) bool) []journal.Execution {
	return slices.DeleteFunc(slices.Clone(all), func(e journal.Execution) bool { return !is(e) })
}

// OtherMetrics are the names that some trials measure instead.
func (p *reportPage) OtherMetrics() string {
	others := p.otherMetrics()
	for i, other := range others {
		others[i] = inlineCode(other)
	}
	return strings.Join(others, ", ")
}

// Lasted is from the first execution's start to the last end.
func (p *reportPage) Lasted() time.Duration {
	var first, last time.Time
	for _, e := range p.Executions {
		if first.IsZero() || e.Started.Before(first) {
			first = e.Started
		}
		if end := e.Started.Add(e.ExecTime); end.After(last) {
			last = end
		}
	}
	return last.Sub(first)
}

// Preparation is what led to the best trial and is no trial itself.
func (p *reportPage) Preparation() []journal.Execution {
	return only(p.Line, func(e journal.Execution) bool { return e.Trial == nil })
}

// Parent is the trial that one goes on from, nil for a draft.
func (p *reportPage) Parent(e journal.Execution) *journal.Trial {
	if parent := p.byID[e.Trial.Parent]; parent != nil {
		return parent.Trial
	}
	return nil
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

// change is a trial's plan in a table.
func change(e journal.Execution) string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.Trial.Plan), "\n")
	return inline(cutLine(first, planInTable))
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
	return "ok"
}

// printedOutput is the beginning and the end of what an execution printed.
func printedOutput(e journal.Execution) string {
	if e.Detail == nil {
		return ""
	}
	text := strings.TrimLeft(readable(strings.Join(e.Detail.TermOut, "")), "\n") // its indentation stays
	return shorten(strings.TrimRight(text, " \t\n"), reportOutput)
}

// failures are what failed in the same way.
type failures struct {
	Kind string
	All  []journal.Execution
}

// Failures are what failed by the kind of failure, the most frequent first.
func (p *reportPage) Failures() []failures {
	var groups []failures
	for _, e := range p.Executions {
		if state(e) != "buggy" {
			continue
		}
		kind := failure(e)
		if e.Status == sessions.StatusOK {
			kind = "no usable metric"
		}
		i := slices.IndexFunc(groups, func(f failures) bool { return f.Kind == kind })
		if i < 0 {
			i, groups = len(groups), append(groups, failures{Kind: kind})
		}
		groups[i].All = append(groups[i].All, e)
	}
	slices.SortStableFunc(groups, func(a, b failures) int { return cmp.Compare(len(b.All), len(a.All)) })
	return groups
}

// Why says what went wrong, if need be in the last line of the traceback.
func (p *reportPage) Why(e journal.Execution) string {
	if e.Trial != nil && e.Trial.Why != "" {
		return e.Trial.Why
	}
	if e.Detail == nil {
		return ""
	}
	text := strings.TrimSpace(e.Detail.Record.Traceback)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Tries are the trials that debug another one, and Mended is the first that worked.
func (p *reportPage) Tries(failed journal.Execution) []journal.Execution {
	return p.children[failed.ID]
}

func (p *reportPage) Mended(failed journal.Execution) *journal.Execution {
	for _, e := range p.children[failed.ID] {
		if !e.Trial.Buggy {
			return &e
		}
	}
	return nil
}

// Left is how many of the trials that were planned have not been made.
func (p *reportPage) Left() int { return max(0, p.Run.Steps-len(p.Executions)) }

// Unmended are trials that failed and that nothing goes on from; Untried drafts that work.
func (p *reportPage) Unmended() []journal.Execution {
	return only(p.Buggy(), func(e journal.Execution) bool { return len(p.Tries(e)) == 0 })
}

func (p *reportPage) Untried() []journal.Execution {
	return only(p.Executions, func(e journal.Execution) bool {
		t := e.Trial
		return !t.Buggy && t.Metric != nil && t.Stage == sessions.StageDraft && len(p.Tries(e)) == 0 && !p.IsBest(e)
	})
}

// numbered names trials by their numbers.
func numbered(trials []journal.Execution) string {
	const most = 30
	var numbers []string
	for _, e := range trials[:min(most, len(trials))] {
		numbers = append(numbers, fmt.Sprint(e.Trial.Number))
	}
	said := strings.Join(numbers, ", ")
	switch more := len(trials) - most; {
	case more > 0:
		return fmt.Sprintf("trials %s and %d more", said, more)
	case len(trials) == 1:
		return "trial " + said
	}
	return "trials " + said
}
