package report

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"understudy/internal/journal"
)

// SaverOptions are what a Saver needs.
type SaverOptions struct {
	Source Source
	Run    string // id of the run whose experiments are saved
	RunDir string // the directory that has one for each experiment
	Log    *slog.Logger
}

// Saver writes the files of experiments as trials are recorded, in a goroutine of its
// own: whoever tells it of a change never waits. What changes while files are being
// written is written once, afterwards; and between two times it rests for longer than
// the first took, so that long experiments don't keep the machine busy.
type Saver struct {
	options SaverOptions
	wake    chan struct{} // holds one that has not been seen
	stop    chan struct{}
	done    chan struct{}
	ctx     context.Context // of all reads
	cancel  context.CancelFunc

	mu      sync.Mutex
	changed []string // experiments, in the order in which they changed
	ended   bool

	// These are the goroutine's own.
	saved  map[string]*savedExperiment
	failed map[string]bool // messages that were logged
}

// savedExperiment is what a Saver knows of an experiment from the last time.
type savedExperiment struct {
	x        *Experiment
	revision int64
	lineOf   int64 // the revision of the best trial that x.Line belongs to
	dir      string
	at       time.Time // of the last change
	reported bool      // report.md has all that is known
}

// remembered is how many experiments are kept in memory, those that changed last. The
// others are read again when they change.
const remembered = 16

// rest is how many times longer than writing took it rests.
const rest = 4

// NewSaver starts a Saver. Nothing is written before it hears of an experiment.
func NewSaver(options SaverOptions) *Saver {
	s := &Saver{
		options: options, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		saved: map[string]*savedExperiment{}, failed: map[string]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s
}

// Changed tells that a trial of the experiment was recorded. It never waits.
func (s *Saver) Changed(experiment string) {
	s.mu.Lock()
	if !slices.Contains(s.changed, experiment) {
		s.changed = append(s.changed, experiment)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close writes what has changed and the reports of all experiments that it has heard
// of, and ends the goroutine. When ctx ends before that it leaves out what it has not
// come to, and returns an error. Nothing is read from the source afterwards.
func (s *Saver) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.ended {
		s.ended = true
		close(s.stop)
	}
	s.mu.Unlock()
	defer s.cancel()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		s.cancel()
		<-s.done
		return fmt.Errorf("writing the experiments' files: %w", context.Cause(ctx))
	}
}

func (s *Saver) run() {
	defer close(s.done)
	for {
		select {
		case <-s.wake:
		case <-s.stop:
			s.finish()
			return
		}
		began := time.Now()
		for _, name := range s.take() {
			s.save(name, false)
		}
		s.forget()
		select {
		case <-time.After(rest * time.Since(began)):
		case <-s.stop:
		}
	}
}

// take returns the experiments that have changed since it was last called.
func (s *Saver) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.changed = nil
	return changed
}

// forget writes the reports of experiments that have long been quiet, and lets go of
// what was read for them: a server may have any number of clients.
func (s *Saver) forget() {
	var read []string
	for name, known := range s.saved {
		if known.revision > 0 {
			read = append(read, name)
		}
	}
	slices.SortFunc(read, func(a, b string) int { return s.saved[b].at.Compare(s.saved[a].at) })
	for _, name := range read[min(remembered, len(read)):] {
		s.save(name, true)
		known := s.saved[name]
		known.x, known.revision, known.lineOf = &Experiment{Name: name}, 0, 0
	}
}

// finish writes everything of all experiments, those without a report first; the
// others' files then say when the run ended.
func (s *Saver) finish() {
	names, reported := s.take(), []string(nil)
	for name, known := range s.saved {
		switch {
		case slices.Contains(names, name):
		case known.reported:
			reported = append(reported, name)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Sort(reported)
	for _, name := range append(names, reported...) {
		if s.ctx.Err() != nil {
			return
		}
		s.save(name, true)
	}
}

// save writes the files of an experiment. What goes wrong is logged, once each.
func (s *Saver) save(name string, whole bool) {
	known, err := s.read(s.ctx, name)
	if err == nil {
		_, err = Write(known.dir, known.x, whole)
		known.reported = whole && err == nil
	}
	if err != nil && s.ctx.Err() == nil && !s.failed[err.Error()] {
		s.failed[err.Error()] = true
		s.options.Log.Error("saving an experiment", "experiment", name, "error", err)
	}
}

// read brings what is known of an experiment up to date.
func (s *Saver) read(ctx context.Context, name string) (*savedExperiment, error) {
	run, err := s.options.Source.Run(ctx, s.options.Run)
	if err != nil {
		return nil, fmt.Errorf("reading the run: %w", err)
	}
	known := s.saved[name]
	if known == nil {
		known = &savedExperiment{x: &Experiment{Name: name}, dir: run.FilesOf(s.options.RunDir, name)}
		s.saved[name] = known
	}
	known.x.Run = *run
	return known, s.update(ctx, known)
}

// update reads the trials that have changed, and how the best one came to be.
func (s *Saver) update(ctx context.Context, known *savedExperiment) error {
	x := known.x
	news, err := s.options.Source.Executions(ctx, journal.Query{Run: s.options.Run, Experiment: x.Name, Trials: true, Since: known.revision, Detail: true})
	if err != nil {
		return fmt.Errorf("reading trials: %w", err)
	}
	if len(news) > 0 {
		known.at = time.Now()
	}
	for _, e := range news {
		known.revision = max(known.revision, e.Revision)
		at, found := slices.BinarySearchFunc(x.Executions, e.ID, func(other journal.Execution, id int64) int { return int(other.ID - id) })
		if found {
			x.Executions[at] = e
		} else {
			x.Executions = slices.Insert(x.Executions, at, e)
		}
	}
	if len(x.Executions) == 0 {
		return errors.New("the journal does not know the experiment")
	}
	x.Best = journal.Best(x.Executions)
	if x.Best == nil || known.lineOf == x.Best.Revision {
		return nil
	}
	if x.Line, err = s.options.Source.Line(ctx, x.Best.ID); err != nil {
		return fmt.Errorf("reading how the best trial came to be: %w", err)
	}
	known.lineOf = x.Best.Revision
	return nil
}
