package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"understudy/internal/journal"
	"understudy/internal/phrase"
)

// patience is how many looks in a row may fail before lines end with an error. A
// server that makes a new journal is such a moment.
const patience = 10

// widestSubject bounds what is told of a plan or of code, in columns.
const widestSubject = 160

// Follow writes a line for each thing that happens, until the run ends or ctx does.
func Follow(ctx context.Context, options Options, out io.Writer) error {
	look := &poller{options: options}
	f := newFollower(options, out)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		ended, err := f.take(look.poll(ctx, 0))
		if ended || err != nil {
			return errors.Join(err, look.close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), look.close())
		case <-tick.C:
		}
	}
}

// follower remembers what it has told.
type follower struct {
	out   io.Writer
	err   error // of the first line that could not be written
	path  string
	asked bool // for this run

	problems     int // looks in a row that failed
	waits        bool
	found        bool
	interpreters map[string]bool
	running      map[int64]bool // executions that were told of and run
	told         int64          // the last execution that was told of
	best         map[string]float64
	named        map[string]bool // experiments whose files were told of
}

func newFollower(options Options, out io.Writer) *follower {
	return &follower{
		out: out, path: options.Path, asked: options.Run != "",
		interpreters: map[string]bool{}, running: map[int64]bool{}, best: map[string]float64{}, named: map[string]bool{},
	}
}

// take tells what a look found, and reports whether the run has ended.
func (f *follower) take(u picture) (ended bool, err error) {
	ended, err = f.tell(u)
	return ended, errors.Join(err, f.err)
}

func (f *follower) tell(u picture) (ended bool, err error) {
	switch {
	case u.waiting() && !f.found:
		if !f.waits {
			f.waits = true
			f.say(u.at, "no server has written to the journal %s yet; waiting for one", clean(f.path))
		}
		return false, nil
	case u.problem != nil:
		if f.problems++; f.problems > patience || f.asked && !f.found {
			return false, u.problem
		}
		return false, nil
	}
	f.problems = 0
	r := u.run
	if !f.found {
		f.found = true
		f.say(r.Started, "run %s: server %s, pid %d, started %s, %s", clean(r.ID), clean(r.Version), r.PID, r.Started.Local().Format(time.DateTime), standing(r))
		if task := firstLine(r.Task); task != "" {
			f.say(r.Started, "task: %s", fit(task, widestSubject))
		}
		if left := r.Executions - len(u.executions); left > 0 {
			f.say(r.Started, "%s before these are left out", many(left, "execution"))
		}
	}
	f.tellInterpreters(u.interpreters)
	for i := range u.executions {
		f.tellExecution(&u.executions[i])
		f.tellFiles(r, &u.executions[i])
	}
	if r.Alive {
		return false, nil
	}
	if r.Ended.IsZero() {
		f.say(u.at, "run %s was killed", clean(r.ID))
	} else {
		f.say(r.Ended, "run %s has ended", clean(r.ID))
	}
	return true, nil
}

func (f *follower) say(at time.Time, format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.out, clock(at)+" "+format+"\n", args...)
	}
}

func (f *follower) tellInterpreters(all []journal.Interpreter) {
	for _, in := range all {
		if f.interpreters[in.ID] {
			continue
		}
		f.interpreters[in.ID] = true
		text := "interpreter " + shortID(in.ID)
		if in.Parent != "" {
			text += ", a branch of " + place(in.Origin)
		}
		if in.Client != "" {
			text += ", of " + firstLine(in.Client)
		}
		f.say(in.Created, "%s", text)
	}
}

// tellExecution tells of one that has begun or ended.
func (f *follower) tellExecution(e *journal.Execution) {
	known := f.running[e.ID]
	if known && runs(e) || !known && e.ID <= f.told {
		return
	}
	f.told = max(f.told, e.ID)
	label := place(e.Place)
	if e.Trial != nil {
		label += " trial " + name(e) + " (" + clean(e.Trial.Stage) + ")"
	}
	if runs(e) {
		f.running[e.ID] = true
		f.say(e.Started, "%s started: %s", label, fit(subject(e), widestSubject))
		return
	}
	delete(f.running, e.ID)
	text := label + " " + clean(string(e.Status))
	switch {
	case e.Status != journal.StatusLost:
		text += " in " + phrase.Short(e.ExecTime)
	case e.ExecTime > 0:
		text += " after " + phrase.Short(e.ExecTime) + " at least"
	}
	if calls := toolCalls(e.ToolCalls); calls != "" {
		text += ", " + calls
	}
	if t := e.Trial; t != nil {
		text += f.judge(e, t)
	}
	if !known {
		text += ": " + fit(subject(e), widestSubject)
	}
	f.say(e.Started.Add(e.ExecTime), "%s", text)
}

// tellFiles names the page of a trial's experiment, once.
func (f *follower) tellFiles(r *journal.Run, e *journal.Execution) {
	if e.Trial == nil || r.RunDir == "" || f.named[e.Trial.Experiment] {
		return
	}
	f.named[e.Trial.Experiment] = true
	f.say(e.Started, "the tree of this experiment: %s", clean(treePage(r, e.Trial.Experiment)))
}

// judge says how a trial is judged, and whether it is the best so far.
func (f *follower) judge(e *journal.Execution, t *journal.Trial) string {
	switch {
	case t.Buggy:
		return ", bug (" + firstLine(t.Why) + ")"
	case t.Metric == nil:
		return ""
	}
	text := ", " + firstLine(t.MetricName) + " " + metric(*t.Metric)
	best, known := f.best[t.Experiment]
	if !known || t.Maximize && *t.Metric > best || !t.Maximize && *t.Metric < best {
		f.best[t.Experiment] = *t.Metric
		text += ", the best so far"
	}
	return text
}
