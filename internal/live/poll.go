package live

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

const (
	pollEvery = 300 * time.Millisecond
	// seldom is at each how manieth look another run is looked for, once the server of
	// the one that is shown is gone.
	seldom = 16

	mostRuns       = 100
	mostExecutions = 10_000 // of a run, the newest
	mostText       = 2_000  // bytes of a code or plan that are kept of each
)

// Source is what a view reads: a journal.Reader.
type Source interface {
	Runs(ctx context.Context, limit int) ([]journal.Run, error)
	Run(ctx context.Context, id string) (*journal.Run, error)
	Interpreters(ctx context.Context, run string) ([]journal.Interpreter, error)
	Executions(ctx context.Context, q journal.Query) ([]journal.Execution, error)
	Heartbeats(ctx context.Context, run string) ([]journal.Heartbeat, error)
	Close() error
}

// Options say what is watched, and how.
type Options struct {
	Path string // of the journal, to be named
	// Open opens it. An error that is fs.ErrNotExist says that no server has written
	// yet: the view waits for one.
	Open func() (Source, error)
	Run  string // the beginning of a run's id; "" is the newest
}

// picture is what one look at the journal found.
type picture struct {
	at           time.Time
	run          *journal.Run // nil where there is none
	interpreters []journal.Interpreter
	heartbeats   []journal.Heartbeat
	executions   []journal.Execution // the oldest first; their texts are cut, and they have no details
	opened       *journal.Execution  // the one that was asked for
	problem      error               // the journal could not be read; no run is known then
}

// errNothing is a problem that ends by itself.
var errNothing = errors.New("nothing is recorded yet")

// errGone is one that stays: nothing more comes of a file that is no more at its path.
var errGone = errors.New("the journal was removed or replaced while it was watched; start understudy watch again")

// waiting reports whether there is no journal, or nothing in it.
func (p *picture) waiting() bool { return errors.Is(p.problem, errNothing) }

// poller looks at the journal and keeps what does not change.
type poller struct {
	options Options

	mu     sync.Mutex // held while it looks
	source Source
	file   os.FileInfo // of the journal that is open; nil if it is no file
	looks  int
	shown  *journal.Run
	known  picture // the last one
	since  int64   // the revision up to which its executions are known
}

// poll looks at the journal, and at the execution that is opened; 0 for none.
func (p *poller) poll(ctx context.Context, opened int64) picture {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := picture{at: time.Now()}
	if err := p.look(ctx, &now, opened); err != nil {
		now = picture{at: now.at, problem: err}
	}
	p.looks++
	p.known = now
	return now
}

func (p *poller) look(ctx context.Context, now *picture, opened int64) error {
	if err := p.open(); err != nil {
		return err
	}
	id, err := p.which(ctx, opened)
	if err != nil {
		return err
	}
	if now.run, err = p.source.Run(ctx, id); err != nil {
		return err
	}
	p.shown = now.run
	if now.interpreters, err = p.source.Interpreters(ctx, now.run.ID); err != nil {
		return err
	}
	if now.run.Alive {
		if now.heartbeats, err = p.source.Heartbeats(ctx, now.run.ID); err != nil {
			return err
		}
	}
	if err := p.changes(ctx, now); err != nil {
		return err
	}
	rest(now)
	return p.detail(ctx, now, opened)
}

// which is the run to look at: the one that is asked for, else the foremost, for as long as
// its server is there, or somebody reads in it.
func (p *poller) which(ctx context.Context, opened int64) (id string, err error) {
	if p.options.Run != "" {
		return p.options.Run, nil
	}
	if p.shown != nil && (p.shown.Alive || opened != 0 || p.looks%seldom != 0) {
		return p.shown.ID, nil
	}
	runs, err := p.source.Runs(ctx, mostRuns)
	if err == nil && len(runs) == 0 {
		err = errNothing
	}
	if err != nil {
		return "", err
	}
	return foremost(runs).ID, nil
}

// foremost is the run to look at where none is asked for: the newest of those whose
// server is there and has run something, else of those whose server is there, else of
// those that have run something. Many a server is started and ended without a call.
func foremost(runs []journal.Run) *journal.Run {
	for _, wanted := range []func(*journal.Run) bool{
		func(r *journal.Run) bool { return r.Alive && r.Executions > 0 },
		func(r *journal.Run) bool { return r.Alive },
		func(r *journal.Run) bool { return r.Executions > 0 },
	} {
		for i := range runs {
			if wanted(&runs[i]) {
				return &runs[i]
			}
		}
	}
	return &runs[0]
}

// isAbsent reports whether an error says that a run is not in the journal.
func isAbsent(err error) bool {
	var absent *journal.NotFoundError
	return errors.As(err, &absent)
}

// open opens the journal, once there is one.
func (p *poller) open() error {
	if p.source != nil {
		if now, err := os.Stat(p.options.Path); p.file != nil && (err != nil || !os.SameFile(now, p.file)) {
			return errGone
		}
		return nil
	}
	file, err := os.Stat(p.options.Path) // before it is opened: later it may be another
	if err != nil {
		file = nil // it is up to Open what that means
	}
	source, err := p.options.Open()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNothing
	case err != nil:
		return err
	}
	p.source, p.file = source, file
	return nil
}

// changes reads the executions that have changed. All are read anew for another run,
// and when a server is gone: then what ran in it is lost without that anyone has
// written so.
func (p *poller) changes(ctx context.Context, now *picture) error {
	kept := p.known.executions
	if p.known.run == nil || p.known.run.ID != now.run.ID || p.known.run.Alive != now.run.Alive {
		kept, p.since = nil, 0
	}
	changed, err := p.source.Executions(ctx, journal.Query{Run: now.run.ID, Limit: mostExecutions, Since: p.since})
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		kept = slices.Clone(kept) // a picture shows the old ones
	}
	for i := range changed {
		e := changed[i]
		p.since = max(p.since, e.Revision)
		shorten(&e)
		at, found := slices.BinarySearchFunc(kept, e.ID, func(e journal.Execution, id int64) int { return int(e.ID - id) })
		if found {
			kept[at] = e
		} else {
			kept = slices.Insert(kept, at, e)
		}
	}
	now.executions = kept[max(0, len(kept)-mostExecutions):]
	return nil
}

// shorten keeps of an execution what a line of the tree and a filter need.
func shorten(e *journal.Execution) {
	e.Code, e.Detail, e.Arguments = cut(e.Code), nil, nil
	if e.Trial != nil {
		t := *e.Trial
		t.Plan, t.Analysis, t.Why = cut(t.Plan), cut(t.Analysis), cut(t.Why)
		e.Trial = &t
	}
}

func cut(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:mostText], ""))
}

// rest corrects heartbeats, which are up to a second old: what has ended does not run.
func rest(now *picture) {
	ended := map[sessions.StateRef]bool{}
	for i := range now.executions {
		if e := &now.executions[i]; !runs(e) {
			ended[e.Place] = true
		}
	}
	for i := range now.heartbeats {
		if b := &now.heartbeats[i]; ended[sessions.StateRef{InterpreterID: b.InterpreterID, Execution: b.Execution}] {
			b.Execution = 0
		}
	}
}

// detail reads the execution that is opened, if it has changed.
func (p *poller) detail(ctx context.Context, now *picture, opened int64) error {
	e := now.find(opened)
	if e == nil {
		return nil
	}
	if known := p.known.opened; known != nil && known.ID == e.ID && known.Revision == e.Revision {
		now.opened = known
		return nil
	}
	found, err := p.source.Executions(ctx, journal.Query{ID: e.ID, Run: now.run.ID, Limit: 1, Detail: true})
	if len(found) > 0 {
		now.opened = &found[0]
	}
	return err
}

// close waits for the look that goes on and lets go of the journal.
func (p *poller) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.source == nil {
		return nil
	}
	err := p.source.Close()
	p.source = nil
	return err
}
