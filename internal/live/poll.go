package live

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"understudy/internal/journal"
)

const (
	// pollEvery is the pause between two looks at the journal.
	pollEvery = 300 * time.Millisecond
	// seldom is at each how manieth look the run itself and its interpreters are read,
	// rarely the list of runs.
	seldom = 4
	rarely = 16

	mostRuns       = 100
	mostExecutions = 2_000  // the newest, where there are no trials
	mostTrials     = 10_000 // far more than an experiment has

	mostText = 2_000 // bytes of a code or plan that are kept of each
)

// ask is what a look is for.
type ask struct {
	run   string // the beginning of its id; "" is the newest
	all   bool   // executions that are no trials as well
	whole bool   // nothing is known yet, or no more
}

// update is what one look at the journal found.
type update struct {
	at    time.Time
	asked string // the run that was asked for
	all   bool   // all executions were asked for
	run   *journal.Run

	runs         []journal.Run // nil when they were not read
	seldom       bool          // interpreters were read
	interpreters []journal.Interpreter

	pulses []journal.Pulse

	// executions are those that have changed, oldest first; all that are kept when
	// whole is set. Their texts are cut, and they have no details.
	whole      bool
	executions []journal.Execution
	trials     bool // they are trials only
	// lost are those that are no trials and were lost with the server. They are read
	// with the whole where executions are trials only.
	lost []journal.Execution

	waiting bool  // there is no journal, or nothing in it
	problem error // it could not be read; all but runs is zero
}

// poller looks at the journal and remembers what it has seen.
type poller struct {
	options Options

	mu     sync.Mutex // held while it looks
	source Source
	file   os.FileInfo // of the journal that is open; nil if it is no file
	looks  int
	absent string       // the run that was asked for last and is not there
	why    error        // what was said of it
	known  *journal.Run // as it was read last
	run    string
	alive  bool
	trials bool
	since  int64
}

// poll looks at a run.
func (p *poller) poll(ctx context.Context, a ask) update {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.whole {
		p.run = ""
	}
	u := update{at: time.Now(), asked: a.run, all: a.all}
	err := p.look(ctx, &u)
	p.looks++
	if err != nil {
		waiting := errors.Is(err, errNothing) || errors.Is(err, errGone)
		return update{at: u.at, asked: a.run, all: a.all, runs: u.runs, problem: err, waiting: waiting}
	}
	return u
}

var (
	// errNothing says that nothing is recorded so far.
	errNothing = errors.New("nothing is recorded yet")
	// errGone says that the journal was taken away while it was read.
	errGone = errors.New("the journal is no more where it was")
)

func (p *poller) look(ctx context.Context, u *update) error {
	if err := p.open(); err != nil {
		return err
	}
	if err := p.lookSeldom(ctx, u); err != nil {
		return err
	}
	u.run = p.known
	if u.run.Alive {
		var err error
		if u.pulses, err = p.source.Pulses(ctx, u.run.ID); err != nil {
			return err
		}
	}
	return p.changes(ctx, u)
}

// lookSeldom reads what is not read at each look: counting the executions of a run
// takes the longer the more there are.
func (p *poller) lookSeldom(ctx context.Context, u *update) (err error) {
	now := p.looks%rarely == 0
	if !now && u.asked != "" && u.asked == p.absent {
		return p.why
	}
	p.absent = ""
	if now || p.known == nil || p.known.ID != u.asked {
		if u.runs, err = p.source.Runs(ctx, mostRuns); err != nil {
			return err
		}
		if len(u.runs) == 0 {
			return errNothing
		}
	}
	if p.looks%seldom != 0 && p.known != nil && p.known.ID == u.asked {
		return nil
	}
	run := u.asked
	if run == "" {
		run = foremost(u.runs).ID
	}
	if p.known, err = p.source.Run(ctx, run); err != nil {
		if isAbsent(err) {
			p.absent, p.why = u.asked, err
		}
		return err
	}
	u.seldom = true
	u.interpreters, err = p.source.Interpreters(ctx, p.known.ID)
	return err
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

// open opens the journal, and lets go of one that is no more at its path: nothing
// would come of it, and a server that starts writes to a new one.
func (p *poller) open() error {
	if p.source != nil {
		if p.file == nil {
			return nil
		}
		if file, err := os.Stat(p.options.Path); err == nil && os.SameFile(file, p.file) {
			return nil
		}
		source := p.source
		p.source, p.file, p.known, p.run, p.absent = nil, nil, nil, "", ""
		return errors.Join(errGone, source.Close())
	}
	file, err := os.Stat(p.options.Path) // before it is opened: later it may be another
	if err != nil {
		file = nil // it is up to Open what that means
	}
	source, err := p.options.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return errNothing
	} else if err != nil {
		return err
	}
	p.source, p.file = source, file
	return nil
}

// changes reads the executions that have changed. All are read anew for another run,
// once there are trials, and when a server is gone: then what ran in it is lost
// without that anyone has written so.
func (p *poller) changes(ctx context.Context, u *update) error {
	u.trials = u.run.Trials > 0 && !u.all
	u.whole = u.run.ID != p.run || u.trials != p.trials || u.run.Alive != p.alive
	q := journal.Query{Run: u.run.ID, Trials: u.trials, Limit: mostExecutions}
	if u.trials {
		q.Limit = mostTrials
	}
	if !u.whole {
		q.Since = p.since
	}
	executions, err := p.source.Executions(ctx, q)
	if err != nil {
		return err
	}
	if u.whole {
		p.since = 0
	}
	for i := range executions {
		e := &executions[i]
		p.since = max(p.since, e.Revision)
		shorten(e)
	}
	u.executions = executions
	if u.whole && u.trials && !u.run.Alive {
		if err := p.findLost(ctx, u); err != nil {
			return err
		}
	}
	p.run, p.trials, p.alive = u.run.ID, u.trials, u.run.Alive
	return nil
}

// findLost reads what a killed server lost that is no trial.
func (p *poller) findLost(ctx context.Context, u *update) error {
	if !u.run.Ended.IsZero() {
		return nil
	}
	all, err := p.source.Executions(ctx, journal.Query{Run: u.run.ID, Limit: mostExecutions})
	for i := range all {
		if e := &all[i]; e.Trial == nil && e.Status == journal.StatusLost {
			shorten(e)
			u.lost = append(u.lost, *e)
		}
	}
	return err
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

// detail reads one execution with all that belongs to it.
func (p *poller) detail(ctx context.Context, run string, id int64) (*journal.Execution, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return nil, err
	}
	found, err := p.source.Executions(ctx, journal.Query{ID: id, Run: run, Limit: 1, Detail: true})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("the journal has it no more")
	}
	return &found[0], nil
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
