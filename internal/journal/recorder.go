package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"understudy/sessions"
)

var _ sessions.Recorder = (*Journal)(nil)

// Begin stores an execution that has not ended. It refuses a trial whose metric
// is not its experiment's.
func (j *Journal) Begin(_ context.Context, entry sessions.Entry) error {
	mask := j.maskFor(entry.Secrets)
	return j.write(func() error {
		r, err := j.place(entry, mask)
		if err != nil {
			return err
		}
		r.status = sessions.StatusRunning
		if entry.Trial != nil {
			if err := j.checkMetric(r, entry.Trial); err != nil {
				return err
			}
		}
		return j.store(r)
	})
}

// Record stores an execution that has ended, and judges it if it is a trial.
func (j *Journal) Record(_ context.Context, entry sessions.Entry) (*sessions.TrialReport, error) {
	mask := j.maskFor(entry.Secrets)
	result, err := mask.result(entry.Result)
	if err != nil {
		return nil, fmt.Errorf("masking the record: %w", err)
	}
	detail, queued, missing := j.detailOf(entry, *result, mask)
	entry.Result = result // what is said of it is cut, which must not divide a secret
	var r *row
	var report *sessions.TrialReport
	err = j.write(func() error {
		if r, err = j.place(entry, mask); err != nil {
			return err
		}
		r.ended(entry)
		if entry.Trial != nil {
			if report, err = j.judge(r, entry, mask); err != nil {
				return err
			}
		}
		detail.Record.Trial = mask.report(report)
		return j.storeWhole(r, entry, detail)
	})
	for _, s := range queued {
		if err != nil {
			j.later.drop(s)
			continue
		}
		s.id = r.id
		j.later.add(s)
	}
	if err != nil {
		j.missed(entry)
		return nil, err
	}
	if report != nil && j.saved != nil {
		j.saved(r.experiment)
	}
	return report, j.takeLoss(missing)
}

// missed remembers an execution that could not be stored, so that what began is not
// taken for running, nor for what never ran.
func (j *Journal) missed(entry sessions.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.unrecorded) < 10_000 { // after that many the file is not coming back
		j.unrecorded[sessions.Place{InterpreterID: entry.InterpreterID, Execution: entry.Execution}] = true
	}
}

// Stand stores how an interpreter stands in which nothing runs. One that has ended
// keeps the state that it had.
func (j *Journal) Stand(_ context.Context, s sessions.Standing) error {
	s.Workdir = j.maskFor(s.Secrets).text(s.Workdir)
	return j.write(func() error {
		if err := j.settle(s.InterpreterID, 0); err != nil {
			return err
		}
		root, err := j.rootOf(s.InterpreterID, s.Parent)
		if err != nil {
			return err
		}
		return j.exec(`INSERT INTO interpreters (id, run, client, workdir, parent, root, origin_interpreter, origin_execution,
				present_interpreter, present_execution, created, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET client = excluded.client, workdir = excluded.workdir, parent = excluded.parent,
				root = excluded.root, origin_interpreter = excluded.origin_interpreter, origin_execution = excluded.origin_execution,
				present_interpreter = iif(excluded.ended > 0, present_interpreter, excluded.present_interpreter),
				present_execution = iif(excluded.ended > 0, present_execution, excluded.present_execution),
				created = excluded.created, ended = excluded.ended`,
			s.InterpreterID, j.run, string(s.Client), s.Workdir, s.Parent, root, s.Origin.InterpreterID, s.Origin.Execution,
			s.Present.InterpreterID, s.Present.Execution, nanoseconds(s.Created), nanoseconds(s.Ended))
	})
}

// rootOf returns the interpreter that all branches come from of which this is one.
func (j *Journal) rootOf(id, parent string) (string, error) {
	root := id
	if parent == "" {
		return root, nil
	}
	_, err := j.get("SELECT root FROM interpreters WHERE id = ?", []any{parent}, &root)
	return root, err
}

// row is an execution as it is stored.
type row struct {
	id                    int64 // 0 for a new one
	entry                 sessions.Entry
	code, plan, analysis  string
	arguments             any // nil or a text
	parent, follows, line int64

	experiment  string // "" for what is no trial
	trial       int
	trialParent int64
	stage       string
	depth       int
	metric      *float64
	buggy, best bool
	why         string

	status  sessions.Status
	took    time.Duration
	changed bool
}

// place finds where an execution belongs: its own row if it has begun, its parents,
// and for a trial its experiment.
func (j *Journal) place(entry sessions.Entry, mask *masker) (*row, error) {
	if entry.Trial != nil && mask.text(entry.Trial.MetricVarName) != entry.Trial.MetricVarName {
		trial := *entry.Trial
		trial.MetricVarName = masked
		entry.Trial = &trial
	}
	r := &row{entry: entry, code: mask.text(entry.Code)}
	arguments, err := mask.json(entry.Arguments)
	if err != nil {
		return nil, fmt.Errorf("masking arguments: %w", err)
	}
	if len(arguments) > 0 {
		r.arguments = string(arguments)
	}
	if err := j.settle(entry.InterpreterID, entry.Execution); err != nil {
		return nil, err
	}
	if err := j.introduce(entry); err != nil {
		return nil, err
	}
	var experiment sql.NullString
	var number sql.NullInt64
	if _, err := j.get("SELECT id, experiment, trial FROM executions WHERE interpreter = ? AND number = ?",
		[]any{entry.InterpreterID, entry.Execution}, &r.id, &experiment, &number); err != nil {
		return nil, err
	}
	if err := j.findParents(r); err != nil {
		return nil, err
	}
	if entry.Trial == nil {
		return r, nil
	}
	r.plan, r.analysis = mask.text(entry.Trial.Plan), mask.text(entry.Trial.Analysis)
	r.experiment, r.trial = experiment.String, int(number.Int64)
	return r, j.placeTrial(r)
}

// findParents looks up the rows of an execution's places.
func (j *Journal) findParents(r *row) (err error) {
	var line int64
	if r.parent, line, err = j.rowAt(r.entry.Parent); err != nil {
		return err
	}
	r.follows, r.line = r.parent, line
	if r.entry.Follows != r.entry.Parent {
		r.follows, r.line, err = j.rowAt(r.entry.Follows)
	}
	return err
}

// rowAt returns the execution that left a state, and the nearest trial at or above
// it. If it could not be stored, the one before it stands in.
func (j *Journal) rowAt(p sessions.Place) (id, line int64, err error) {
	if p.Execution == 0 {
		return 0, 0, nil
	}
	_, err = j.get("SELECT id, line FROM executions WHERE interpreter = ? AND number <= ? ORDER BY number DESC LIMIT 1",
		[]any{p.InterpreterID, p.Execution}, &id, &line)
	return id, line, err
}

// introduce stores an interpreter of which nothing was told yet.
func (j *Journal) introduce(entry sessions.Entry) error {
	if j.known[entry.InterpreterID] {
		return nil
	}
	parent := ""
	if entry.Parent.InterpreterID != entry.InterpreterID {
		parent = entry.Parent.InterpreterID
	}
	root, err := j.rootOf(entry.InterpreterID, parent)
	if err != nil {
		return err
	}
	j.known[entry.InterpreterID] = true // forgotten if the transaction fails
	return j.exec(`INSERT INTO interpreters (id, run, client, parent, root, origin_interpreter, origin_execution, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		entry.InterpreterID, j.run, string(entry.Client), parent, root, entry.Parent.InterpreterID, entry.Parent.Execution, nanoseconds(entry.Started))
}

// settle sees to executions that began and of which nothing more was stored, but for
// the one with this number: of an interpreter only one runs at a time. A trial did not
// run then; how any other ended is unknown.
func (j *Journal) settle(interpreter string, number int) error {
	for {
		var id int64
		var trial sql.NullInt64
		var experiment sql.NullString
		found, err := j.get(selectStale, []any{interpreter, number}, &id, &experiment, &trial)
		switch {
		case err != nil || !found:
			return err
		case experiment.Valid:
			err = errors.Join(
				j.exec("DELETE FROM executions WHERE id = ?", id),
				j.exec("UPDATE experiments SET trials = trials - 1 WHERE name = ? AND trials = ?", experiment.String, trial.Int64))
		default:
			err = j.markLost("id = ?", id)
		}
		if err != nil {
			return err
		}
	}
}

const selectStale = `SELECT id, experiment, trial FROM executions INDEXED BY executions_running
	WHERE interpreter = ? AND status = 'running' AND number <> ? LIMIT 1`

// tellUnrecorded marks the executions that ended while storing that failed.
func (j *Journal) tellUnrecorded() error {
	for p := range j.unrecorded {
		if err := j.markLost("interpreter = ? AND number = ?", p.InterpreterID, p.Execution); err != nil {
			return err
		}
	}
	return nil
}

// markLost says of an execution that began that its end is not known.
func (j *Journal) markLost(which string, args ...any) error {
	revision, err := j.nextRevision()
	if err != nil {
		return err
	}
	return j.exec(`UPDATE executions SET status = 'lost', revision = ?, buggy = iif(experiment IS NULL, NULL, 1),
		why = iif(experiment IS NULL, NULL, ?) WHERE status = 'running' AND `+which,
		append([]any{revision, "how it ended could not be recorded"}, args...)...)
}

func (j *Journal) nextRevision() (revision int64, err error) {
	_, err = j.get("UPDATE counter SET revision = revision + 1 RETURNING revision", nil, &revision)
	return revision, err
}
