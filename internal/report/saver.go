package report

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
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
	stop    func()        // closes stopped
	stopped chan struct{}
	done    chan struct{}
	ctx     context.Context // of all reads
	cancel  context.CancelFunc

	mu      sync.Mutex
	changed []string // experiments, in the order in which they changed

	// These are the goroutine's own.
	saved  []string        // experiments whose files were written
	failed map[string]bool // messages that were logged
}

// rest is how many times longer than writing took it rests.
const rest = 4

// NewSaver starts a Saver. Nothing is written before it hears of an experiment.
func NewSaver(options SaverOptions) *Saver {
	stopped := make(chan struct{})
	s := &Saver{
		options: options, wake: make(chan struct{}, 1), done: make(chan struct{}), failed: map[string]bool{},
		stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) }),
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

// Close writes the files of all experiments that it has heard of once more, as they say
// when the run ended, those that have changed first; and ends the goroutine. When ctx ends
// before that it leaves out what it has not come to, and returns an error. Nothing is read
// from the source afterwards.
func (s *Saver) Close(ctx context.Context) error {
	s.stop()
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
		case <-s.stopped:
			s.save(s.take(), slices.Clone(s.saved))
			return
		}
		began := time.Now()
		s.save(s.take())
		select {
		case <-time.After(rest * time.Since(began)):
		case <-s.stopped:
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

// save writes the files of experiments, each once. What goes wrong is logged, once too.
func (s *Saver) save(experiments ...[]string) {
	done := map[string]bool{}
	for _, name := range slices.Concat(experiments...) {
		if done[name] || s.ctx.Err() != nil {
			continue
		}
		done[name] = true
		if err := s.saveOne(name); err != nil && s.ctx.Err() == nil && !s.failed[err.Error()] {
			s.failed[err.Error()] = true
			s.options.Log.Error("saving an experiment", "experiment", name, "error", err)
		}
		if !slices.Contains(s.saved, name) {
			s.saved = append(s.saved, name)
		}
	}
}

func (s *Saver) saveOne(name string) error {
	run, err := s.options.Source.Run(s.ctx, s.options.Run)
	if err != nil {
		return fmt.Errorf("reading the run: %w", err)
	}
	x, err := Load(s.ctx, s.options.Source, *run, name)
	if err != nil {
		return err
	}
	if len(x.Executions) == 0 {
		return errors.New("the journal does not know the experiment")
	}
	_, err = Write(x.Run.FilesOf(s.options.RunDir, name), x)
	return err
}
