package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"understudy/sessions"
)

var _ sessions.Recorder = (*Journal)(nil)

// Begin stores an execution that has not ended. It refuses a trial whose metric
// is not its experiment's with sessions.CodeInvalid.
func (j *Journal) Begin(_ context.Context, entry sessions.Entry) error {
	mask := j.maskFor(entry.Secrets)
	return j.write(func(t *tx) {
		r := t.place(entry, mask)
		r.status = sessions.StatusRunning
		if entry.Trial != nil && t.err == nil {
			t.err = t.checkMetric(r)
		}
		t.store(r, nil)
	})
}

// Record stores an execution that has ended, and judges it if it is a trial.
func (j *Journal) Record(_ context.Context, entry sessions.Entry) (*sessions.TrialReport, error) {
	mask := j.maskFor(entry.Secrets)
	result, err := mask.result(entry.Result)
	if err != nil {
		return nil, fmt.Errorf("masking the record: %w", err)
	}
	uses, err := mask.toolUses(entry.ToolUses)
	if err != nil {
		return nil, fmt.Errorf("masking calls of tools: %w", err)
	}
	detail, missing := j.detailOf(entry, *result, mask)
	entry.Result = result // what is said of it is cut, which must not divide a secret
	var r *row
	err = j.write(func(t *tx) {
		r = t.place(entry, mask)
		r.status, r.changed = result.Status, result.Variables != nil && !result.Variables.Empty()
		r.took = time.Duration(result.ExecTime * float64(time.Second))
		if entry.Trial != nil {
			detail.Record.Trial = t.judge(r, mask)
		}
		t.store(r, detail)
		t.storeToolUses(r.id, uses)
		if r.best {
			t.exec("UPDATE experiments SET best = ? WHERE name = ?", r.id, r.experiment)
		}
		t.exec("UPDATE interpreters SET present_interpreter = ?, present_execution = ? WHERE id = ?",
			entry.Present.InterpreterID, entry.Present.Execution, entry.InterpreterID)
	})
	if err != nil {
		j.missed(entry)
		return nil, err
	}
	if entry.Trial != nil && j.saved != nil {
		j.saved(r.experiment)
	}
	return detail.Record.Trial, j.takeLoss(missing)
}

// missed remembers an execution that could not be stored, so that what began is not
// taken for running, nor for what never ran.
func (j *Journal) missed(entry sessions.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.unrecorded) < 10_000 { // after that many the file is not coming back
		j.unrecorded[sessions.StateRef{InterpreterID: entry.InterpreterID, Execution: entry.Execution}] = true
	}
}

// SaveSession stores how an interpreter stands in which nothing runs. One that has ended
// keeps the state that it had.
func (j *Journal) SaveSession(_ context.Context, s sessions.SessionState) error {
	s.Workdir = j.maskFor(s.Secrets).text(s.Workdir)
	return j.write(func(t *tx) {
		t.settle(s.InterpreterID, 0)
		root := t.rootOf(s.InterpreterID, s.Parent)
		if !s.Ended.IsZero() {
			t.get("SELECT present_interpreter, present_execution FROM interpreters WHERE id = ?",
				[]any{s.InterpreterID}, &s.Present.InterpreterID, &s.Present.Execution)
		}
		t.exec(upsertInterpreter, s.InterpreterID, j.run, string(s.Client), s.Workdir, s.Parent, root,
			s.Origin.InterpreterID, s.Origin.Execution, s.Present.InterpreterID, s.Present.Execution,
			nanoseconds(s.Created), nanoseconds(s.Ended))
	})
}

var upsertInterpreter = upsert("interpreters", "id", "id", "run", "client", "workdir", "parent", "root",
	"origin_interpreter", "origin_execution", "present_interpreter", "present_execution", "created", "ended")

// rootOf returns the interpreter that all branches come from of which this is one.
func (t *tx) rootOf(id, parent string) string {
	if parent != "" {
		t.get("SELECT root FROM interpreters WHERE id = ?", []any{parent}, &id)
	}
	return id
}

// SaveHeartbeats stores what the interpreters do now, in place of what was stored before. Who
// watches sees it; it is called within a second of what is new, every ten seconds while
// something runs, and once when nothing runs any more.
func (j *Journal) SaveHeartbeats(_ context.Context, heartbeats []sessions.Heartbeat) error {
	heartbeats = slices.Clone(heartbeats)
	calls := make([]string, len(heartbeats))
	for i := range heartbeats {
		mask := j.maskFor(heartbeats[i].Secrets)
		encoded, _ := json.Marshal(mask.names(heartbeats[i].ToolCalls)) // numbers by names always can be
		calls[i] = string(encoded)
		heartbeats[i].Code, heartbeats[i].Tail = mask.text(heartbeats[i].Code), mask.text(heartbeats[i].Tail)
	}
	now := time.Now().UnixNano()
	err := j.write(func(t *tx) {
		t.exec("DELETE FROM pulses WHERE run = ?", j.run)
		for i, p := range heartbeats {
			t.exec(`INSERT INTO pulses (interpreter, run, at, client, memory, waiting, execution, code, started, time_limit, tail, position, tool_calls)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (interpreter) DO NOTHING`,
				p.InterpreterID, j.run, now, string(p.Client), int64(p.Memory), p.Waiting, p.Execution, p.Code,
				nanoseconds(p.Started), int64(p.Limit), p.Tail, i, calls[i])
		}
	})
	if err != nil {
		return fmt.Errorf("storing what runs: %w", err)
	}
	return nil
}

// row is an execution as it is stored.
type row struct {
	id                    int64 // 0 for a new one
	entry                 sessions.Entry
	code, plan, analysis  string
	arguments             json.RawMessage
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

// place finds where an execution belongs: its parents, and for a trial its experiment.
func (t *tx) place(entry sessions.Entry, mask *masker) *row {
	r := &row{entry: entry, code: mask.text(entry.Code)}
	var err error
	if r.arguments, err = mask.json(entry.Arguments, true); err != nil {
		t.err = fmt.Errorf("masking arguments: %w", err)
	}
	t.settle(entry.InterpreterID, entry.Execution)
	t.introduce(entry)
	r.parent, r.line = t.rowAt(entry.Parent)
	r.follows = r.parent
	if entry.Follows != entry.Parent {
		r.follows, r.line = t.rowAt(entry.Follows)
	}
	if entry.Trial != nil {
		trial := *entry.Trial
		if mask.text(trial.MetricVarName) != trial.MetricVarName {
			trial.MetricVarName = masked
		}
		r.entry.Trial = &trial
		r.plan, r.analysis = mask.text(trial.Plan), mask.text(trial.Analysis)
		t.placeTrial(r)
	}
	return r
}

// rowAt returns the execution that left a state, and the nearest trial at or above
// it. If it could not be stored, the one before it stands in.
func (t *tx) rowAt(p sessions.StateRef) (id, line int64) {
	if p.Execution != 0 {
		t.get(`SELECT id, iif(experiment IS NULL, line, id) FROM executions
			WHERE interpreter = ? AND number <= ? ORDER BY number DESC LIMIT 1`, []any{p.InterpreterID, p.Execution}, &id, &line)
	}
	return id, line
}

// introduce stores an interpreter of which nothing was told yet.
func (t *tx) introduce(entry sessions.Entry) {
	if t.known[entry.InterpreterID] {
		return
	}
	t.known[entry.InterpreterID] = true // forgotten if the transaction fails
	parent := ""
	if entry.Parent.InterpreterID != entry.InterpreterID {
		parent = entry.Parent.InterpreterID
	}
	t.exec(`INSERT INTO interpreters (id, run, client, parent, root, origin_interpreter, origin_execution, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, entry.InterpreterID, t.run, string(entry.Client), parent,
		t.rootOf(entry.InterpreterID, parent), entry.Parent.InterpreterID, entry.Parent.Execution, nanoseconds(entry.Started))
}

// settle sees to executions that began and of which nothing more was stored, but for
// the one with this number: of an interpreter only one runs at a time. A trial did not
// run then; how any other ended is unknown.
func (t *tx) settle(interpreter string, number int) {
	var id int64
	var trial int
	var experiment string
	for t.get(`SELECT id, coalesce(experiment, ''), coalesce(trial, 0) FROM executions INDEXED BY executions_running
			WHERE interpreter = ? AND status = 'running' AND number <> ? LIMIT 1`, []any{interpreter, number}, &id, &experiment, &trial) {
		if experiment == "" {
			t.markLost("id = ?", id)
			continue
		}
		t.exec("DELETE FROM executions WHERE id = ?", id)
		t.exec("UPDATE experiments SET trials = trials - 1 WHERE name = ? AND trials = ?", experiment, trial)
	}
}

// markLost says of an execution that began that its end is not known.
func (t *tx) markLost(which string, args ...any) {
	t.exec(`UPDATE executions SET status = 'lost', revision = ?, buggy = iif(experiment IS NULL, NULL, 1),
		why = iif(experiment IS NULL, NULL, ?) WHERE status = 'running' AND `+which,
		append([]any{t.nextRevision(), "how it ended could not be recorded"}, args...)...)
}

var upsertExecution = upsert("executions", "interpreter, number", "revision", "run", "interpreter", "number", "client",
	"kind", "code", "arguments", "started", "time_limit", "parent", "follows", "line", "status", "exec_time", "memory", "changed",
	"detail", "experiment", "trial", "plan", "analysis", "trial_parent", "stage", "depth", "metric_name", "maximize", "metric",
	"buggy", "why") + " RETURNING id"

// store writes the row of an execution, and gives it its id. There is no detail while
// it runs.
func (t *tx) store(r *row, detail *Detail) {
	e := r.entry
	var arguments, text any
	if len(r.arguments) > 0 {
		arguments = string(r.arguments)
	}
	if detail != nil {
		encoded, err := json.Marshal(detail)
		if err != nil {
			t.err = fmt.Errorf("encoding the record: %w", err)
		}
		text = string(encoded)
	}
	args := []any{
		t.nextRevision(), t.run, e.InterpreterID, e.Execution, string(e.Client), string(e.Kind), r.code, arguments, nanoseconds(e.Started),
		int64(e.Limit), r.parent, r.follows, r.line, string(r.status), int64(r.took), int64(e.Memory), r.changed, text,
	}
	if trial := e.Trial; trial != nil {
		var maximize any
		if trial.MetricVarName != "" {
			maximize = trial.Maximize
		}
		args = append(args, r.experiment, r.trial, r.plan, r.analysis, r.trialParent, r.stage, r.depth,
			trial.MetricVarName, maximize, r.metric, r.buggy, r.why)
	} else {
		args = append(args, make([]any, 12)...) // NULL
	}
	t.get(upsertExecution, args, &r.id)
}
