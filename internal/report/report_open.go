package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"understudy/internal/journal"
	"understudy/sessions"
)

// failures are what failed in the same way.
type failures struct {
	Kind string
	all  []journal.Execution
}

func (f *failures) Times() int                 { return len(f.all) }
func (f *failures) Shown() []journal.Execution { return f.all[:min(reportFailures, len(f.all))] }
func (f *failures) More() int                  { return len(f.all) - len(f.Shown()) }

// Failures are what failed by the kind of failure, the most frequent first.
func (p *reportPage) Failures() []*failures {
	var groups []*failures
	for _, e := range p.Executions {
		if state(e) != "buggy" {
			continue
		}
		kind := failure(e)
		if e.Status == sessions.StatusOK {
			kind = "no usable metric"
		}
		i := slices.IndexFunc(groups, func(f *failures) bool { return f.Kind == kind })
		if i < 0 {
			i, groups = len(groups), append(groups, &failures{Kind: kind})
		}
		groups[i].all = append(groups[i].all, e)
	}
	slices.SortStableFunc(groups, func(a, b *failures) int { return cmp.Compare(b.Times(), a.Times()) })
	return groups
}

// WhatFailed says what went wrong, if need be in the last line of the traceback.
func (p *reportPage) WhatFailed(e journal.Execution) string {
	last := ""
	if e.Detail != nil {
		text := strings.TrimSpace(e.Detail.Record.Traceback)
		last = text[strings.LastIndexByte(text, '\n')+1:]
	}
	if e.Trial == nil {
		return inlineCode(placeName(e)) + ": " + inline(cutLine(last, 200))
	}
	return fmt.Sprintf("trial %d: %s", e.Trial.Number, inline(cutLine(cmp.Or(e.Trial.Why, last), 200)))
}

// Mended says what came of debugging a trial.
func (p *reportPage) Mended(failed journal.Execution) string {
	if failed.Trial == nil {
		return ""
	}
	tried := 0
	for _, e := range p.Executions {
		if e.Trial.Parent != failed.ID {
			continue
		}
		tried++
		if !e.Trial.Buggy {
			return strings.TrimRight(fmt.Sprintf("; trial %d mended it: %s", e.Trial.Number, change(e)), ": ")
		}
	}
	if tried > 0 {
		return "; " + sessions.Counted(tried, "trial") + " that went on from it failed too"
	}
	return "; nothing went on from it"
}

// Figures are the images beside the report.
func (p *reportPage) Figures() []picture {
	var all []picture
	for _, e := range p.Executions {
		title := placeName(e)
		if e.Trial != nil {
			title = fmt.Sprintf("Trial %d", e.Trial.Number)
		}
		for _, file := range p.files[e.ID] {
			all = append(all, picture{Name: file, Title: title})
		}
	}
	return all
}

// Open is what the journal shows to be open.
func (p *reportPage) Open() []string {
	if !p.Trials() {
		return nil
	}
	var open []string
	if left := p.Run.Steps - len(p.Executions); left > 0 {
		open = append(open, fmt.Sprintf("%s of the %d planned are left.", sessions.Counted(left, "trial"), p.Run.Steps))
	}
	followed := map[int64]bool{}
	for _, e := range p.Executions {
		followed[e.Trial.Parent] = true
	}
	if p.Best != nil && !followed[p.Best.ID] {
		open = append(open, fmt.Sprintf("Trial %d, the best, has not been improved on yet.", p.Best.Trial.Number))
	}
	var unmended, untried []string
	for _, e := range p.Executions {
		switch {
		case followed[e.ID] || p.IsBest(e):
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
	word, more := "trials ", ""
	if len(numbers) == 1 {
		word = "trial "
	}
	if len(numbers) > 30 {
		more = fmt.Sprintf(" and %d more", len(numbers)-30)
		numbers = numbers[:30]
	}
	return word + strings.Join(numbers, ", ") + more
}
