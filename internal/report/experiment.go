package report

import (
	"context"
	"fmt"
	"slices"

	"understudy/internal/journal"
	"understudy/internal/phrase"
)

// Source is what a journal.Reader gives.
type Source interface {
	Run(ctx context.Context, id string) (*journal.Run, error)
	Executions(ctx context.Context, q journal.Query) ([]journal.Execution, error)
	Experiments(ctx context.Context, run string) ([]string, error)
	Line(ctx context.Context, id int64) ([]journal.Execution, error)
}

// Experiment is what files are made of: the trials of an experiment, or, with no
// Name, what a run without trials executed.
type Experiment struct {
	Run  journal.Run
	Name string
	// Executions are its trials, or all executions of a run without trials, oldest
	// first, with details.
	Executions []journal.Execution
	Best       *journal.Execution  // one of Executions; nil where nothing was measured
	Line       []journal.Execution // the executions by which the best trial came to be
}

// withoutTrials is how many executions of a run without trials are looked at, the newest.
const withoutTrials = 2000

// Load reads an experiment; name is "" for a run without trials.
func Load(ctx context.Context, source Source, run journal.Run, name string) (*Experiment, error) {
	query := journal.Query{Run: run.ID, Experiment: name, Trials: name != "", Detail: true}
	if name == "" {
		query.Limit = withoutTrials
	}
	executions, err := source.Executions(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("reading the executions of run %s: %w", run.ID, err)
	}
	x := &Experiment{Run: run, Name: name, Executions: executions, Best: journal.Best(executions)}
	if x.Best != nil {
		if x.Line, err = source.Line(ctx, x.Best.ID); err != nil {
			return nil, fmt.Errorf("reading how trial %d came to be: %w", x.Best.Trial.Number, err)
		}
	}
	return x, nil
}

// metric returns what the trials measure, from the best one or else the first that
// says: name "" where none does.
func (x *Experiment) metric() (name string, maximize bool) {
	if x.Best != nil {
		return x.Best.Trial.MetricName, x.Best.Trial.Maximize
	}
	for _, e := range x.Executions {
		if e.Trial != nil && e.Trial.MetricName != "" {
			return e.Trial.MetricName, e.Trial.Maximize
		}
	}
	return "", false
}

// otherMetrics returns the names that trials measure beside that of metric, in order.
func (x *Experiment) otherMetrics() []string {
	name, _ := x.metric()
	var others []string
	for _, e := range x.Executions {
		if t := e.Trial; t != nil && t.MetricName != "" && t.MetricName != name && !slices.Contains(others, t.MetricName) {
			others = append(others, t.MetricName)
		}
	}
	return others
}

// title is what it is called.
func (x *Experiment) title() string {
	if x.Name == "" || x.Run.Name == "" {
		return "Run " + x.Run.ID
	}
	return x.Run.Name + ", run " + x.Run.ID
}

// policy says how it searches, "" where that is not known.
func (x *Experiment) policy() string {
	s := x.Run.Search
	if x.Name == "" || s.Drafts == 0 {
		return ""
	}
	drafts := s.Drafts
	if x.Run.Steps > 0 { // as the prompt has it
		drafts = min(drafts, max(1, x.Run.Steps/2))
	}
	text := phrase.Count(drafts, "draft") + " to begin with; "
	if s.DebugProb == 0 {
		return text + "nothing is debugged"
	}
	share := "what"
	if s.DebugProb < 1 {
		share = fmt.Sprintf("%g%% of what", 100*s.DebugProb)
	}
	return text + fmt.Sprintf("%s is buggy is debugged, up to %s in a row", share, phrase.Count(s.DebugDepth, "time"))
}

// Summary says in a sentence what came of it.
func (x *Experiment) Summary() string {
	if x.Name == "" {
		return fmt.Sprintf("Run %s: %s.", x.Run.ID, phrase.Count(len(x.Executions), "execution"))
	}
	trials := phrase.Count(len(x.Executions), "trial")
	if x.Best == nil {
		return fmt.Sprintf("Run %s: %s, and none with a metric.", x.Run.ID, trials)
	}
	t := x.Best.Trial
	return fmt.Sprintf("Run %s: %s; the best is trial %d with %s = %s (%s is better).", x.Run.ID, trials, t.Number, t.MetricName, number(*t.Metric), direction(t.Maximize))
}
