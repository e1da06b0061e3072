package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"understudy/sessions"
)

const upsertExecution = `INSERT INTO executions (revision, run, interpreter, number, client, kind, code, arguments, started, time_limit,
		parent, follows, line, experiment, trial, plan, analysis, trial_parent, stage, depth, metric_name, maximize, metric, buggy, why,
		status, exec_time, memory, changed)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (interpreter, number) DO UPDATE SET revision = excluded.revision, client = excluded.client, kind = excluded.kind,
		code = excluded.code, arguments = excluded.arguments, started = excluded.started, time_limit = excluded.time_limit,
		parent = excluded.parent, follows = excluded.follows, line = excluded.line, experiment = excluded.experiment,
		trial = excluded.trial, plan = excluded.plan, analysis = excluded.analysis, trial_parent = excluded.trial_parent, stage = excluded.stage,
		depth = excluded.depth, metric_name = excluded.metric_name, maximize = excluded.maximize, metric = excluded.metric,
		buggy = excluded.buggy, why = excluded.why, status = excluded.status, exec_time = excluded.exec_time,
		memory = excluded.memory, changed = excluded.changed
	RETURNING id`

// store writes the row of an execution, and gives it its id.
func (j *Journal) store(r *row) error {
	revision, err := j.nextRevision()
	if err != nil {
		return err
	}
	e := r.entry
	args := []any{
		revision, j.run, e.InterpreterID, e.Execution, string(e.Client), string(e.Kind), r.code, r.arguments,
		nanoseconds(e.Started), int64(e.Limit), r.parent, r.follows, r.line,
	}
	args = append(args, r.trialColumns()...)
	args = append(args, string(r.status), int64(r.took), int64(e.Memory), r.changed)
	if _, err := j.get(upsertExecution, args, &r.id); err != nil || e.Trial == nil {
		return err
	}
	// The line of a trial is itself, which has its id only now.
	return j.exec("UPDATE executions SET line = id WHERE id = ?", r.id)
}

// trialColumns are the values of experiment to why, NULL for what is no trial.
func (r *row) trialColumns() []any {
	t := r.entry.Trial
	if t == nil {
		return make([]any, 12)
	}
	var maximize, metric any
	if t.MetricVarName != "" {
		maximize = t.Maximize
	}
	if r.metric != nil {
		metric = *r.metric
	}
	return []any{r.experiment, r.trial, r.plan, r.analysis, r.trialParent, r.stage, r.depth, t.MetricVarName, maximize, metric, r.buggy, r.why}
}

// storeWhole writes all that belongs to an execution that has ended.
func (j *Journal) storeWhole(r *row, entry sessions.Entry, detail *Detail) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("encoding the record: %w", err)
	}
	if err := j.store(r); err != nil {
		return err
	}
	if err := j.noteBest(r); err != nil {
		return err
	}
	return errors.Join(
		j.exec("INSERT INTO details (execution, detail) VALUES (?, ?) ON CONFLICT (execution) DO UPDATE SET detail = excluded.detail", r.id, string(text)),
		j.exec("UPDATE interpreters SET present_interpreter = ?, present_execution = ? WHERE id = ?",
			entry.Present.InterpreterID, entry.Present.Execution, entry.InterpreterID))
}

// ended takes over how the execution ended.
func (r *row) ended(entry sessions.Entry) {
	r.status = entry.Result.Status
	r.took = time.Duration(entry.Result.ExecTime * float64(time.Second))
	r.changed = entry.Result.Variables != nil && !entry.Result.Variables.Empty()
}

// detailOf keeps an execution's files, and returns the rest of it; result is its record
// without secrets. A file that can't be kept is missing, which is told: it must not cost
// the record.
func (j *Journal) detailOf(entry sessions.Entry, result sessions.Result, mask *masker) (d *Detail, queued []*spooled, missing error) {
	k := keeper{
		root: filesOf(j.path), run: j.run, prefix: entry.InterpreterID + "-" + strconv.Itoa(entry.Execution) + "-",
		mask: mask, later: &j.later, queued: &queued,
	}
	problems := 0
	problem := func(what string, err error) {
		if err != nil {
			if problems++; problems == 1 { // a run may have thousands
				missing = fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	var err error
	d = &Detail{}
	d.Stdout, err = k.output(sessions.Stdout, entry.Result.Stdout, entry.Result.StdoutTruncated, entry.Printed[sessions.Stdout])
	problem("the whole of stdout", err)
	d.Stderr, err = k.output(sessions.Stderr, entry.Result.Stderr, entry.Result.StderrTruncated, entry.Printed[sessions.Stderr])
	problem("the whole of stderr", err)
	k.made = entry.Open
	images := k
	images.mask = nil // bytes of an image are no text
	for i, f := range result.Figures {
		kept := Figure{Figure: f}
		if path := entry.Result.Figures[i].Path; path != "" {
			kept.File, err = images.keep(path, "figure-"+strconv.Itoa(i+1)+k.extension(path), true)
			problem(fmt.Sprintf("figure %d", i+1), err)
		}
		d.Figures = append(d.Figures, kept)
	}
	for i, a := range result.Artifacts {
		kept := Artifact{Artifact: a}
		// A copy: it is in the working directory, where code may write to it.
		path := entry.Result.Artifacts[i].Path
		kept.File, err = k.ofKind(a).keep(path, "artifact-"+strconv.Itoa(i+1)+k.extension(path), false)
		problem(fmt.Sprintf("artifact %d", i+1), err)
		d.Artifacts = append(d.Artifacts, kept)
	}
	d.TermOut = cutPieces(result.TermOut)
	result.Stdout, result.Stderr, result.TermOut, result.FigStoragePath, result.Base64URI = "", "", nil, nil, nil
	d.Record = result
	if problems > 1 {
		missing = fmt.Errorf("%w; and %d more", missing, problems-1)
	}
	if missing != nil {
		j.log.Warn("keeping files for the journal", "interpreter_id", entry.InterpreterID, "execution", entry.Execution, "error", missing)
	}
	return d, queued, missing
}

// ofKind is k for an artifact: images have no secrets to be looked for.
func (k keeper) ofKind(a sessions.Artifact) keeper {
	switch a.MIMEType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "application/zip":
		k.mask = nil
	}
	return k
}

// result returns a copy of a record without secrets. The record itself is what the
// client gets.
func (m *masker) result(original *sessions.Result) (*sessions.Result, error) {
	result := *original
	if m == nil {
		return &result, nil
	}
	text, err := json.Marshal(original)
	if err != nil {
		return nil, err
	}
	result = sessions.Result{}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, err
	}
	result.Kind = original.Kind
	m.streams(result.TermOut)
	return &result, m.all(reflect.ValueOf(&result))
}
