package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"understudy/sessions"
)

const executionColumns = `e.id, e.revision, e.run, e.interpreter, e.number, e.client, e.kind, e.code, e.arguments,
	e.started, e.time_limit, e.parent, e.follows,
	e.experiment, e.trial, e.plan, e.analysis, e.trial_parent, e.stage, e.depth, e.metric_name, e.maximize, e.metric, e.buggy, e.why,
	e.status, e.exec_time, e.memory, e.changed`

// Executions returns those that are asked for, oldest first.
func (r *Reader) Executions(ctx context.Context, q Query) ([]Execution, error) {
	query, args := q.sql()
	found, err := r.executions(ctx, q.Detail, query, args...)
	slices.Reverse(found)
	return found, err
}

// sql is the query, the newest first. It says which index finds the rows: SQLite
// would rather read the whole table backwards than sort a few rows. In an
// interpreter, and in an experiment, the order of the numbers is that of the ids.
func (q Query) sql() (query string, args []any) {
	index, order := "NOT INDEXED", "id"
	switch {
	case q.Since > 0:
		index = "INDEXED BY executions_by_revision"
	case q.Interpreter != "":
		index, order = "INDEXED BY sqlite_autoindex_executions_1", "number" // of UNIQUE
	case q.Experiment != "":
		index, order = "INDEXED BY trials", "trial"
	case q.Run != "":
		index = "INDEXED BY executions_of_run"
	}
	var b strings.Builder
	b.WriteString("SELECT " + executionColumns + detailColumn(q.Detail) + " FROM executions e " + index + detailJoin(q.Detail) + " WHERE 1")
	where := func(condition string, value any) {
		b.WriteString(" AND " + condition)
		args = append(args, value)
	}
	if q.ID != 0 {
		where("e.id = ?", q.ID)
	}
	if q.Since > 0 {
		where("e.revision > ?", q.Since)
	}
	if q.Run != "" {
		where("e.run = ?", q.Run)
	}
	if q.Interpreter != "" {
		where("e.interpreter = ?", q.Interpreter)
	}
	if q.Experiment != "" {
		where("e.experiment = ?", q.Experiment)
	}
	if q.Trials {
		b.WriteString(" AND e.experiment IS NOT NULL")
	}
	b.WriteString(" ORDER BY e." + order + " DESC")
	if q.Limit > 0 {
		b.WriteString(" LIMIT ?")
		args = append(args, q.Limit)
	}
	return b.String(), args
}

func detailColumn(wanted bool) string {
	if wanted {
		return ", d.detail"
	}
	return ", NULL"
}

func detailJoin(wanted bool) string {
	if wanted {
		return " LEFT JOIN details d ON d.execution = e.id"
	}
	return ""
}

// Line returns the executions by which the state after one came to be, the first
// first, with their details. The one is always among them, also when it lost its
// process and left no state.
func (r *Reader) Line(ctx context.Context, id int64) ([]Execution, error) {
	line, err := r.executions(ctx, true, `WITH RECURSIVE up(id, parent, height) AS (
			SELECT id, parent, 0 FROM executions WHERE id = ?
			UNION ALL SELECT p.id, p.parent, up.height + 1 FROM up JOIN executions p ON p.id = up.parent AND p.id < up.id
		) SELECT `+executionColumns+`, d.detail FROM up JOIN executions e ON e.id = up.id
		LEFT JOIN details d ON d.execution = e.id ORDER BY up.height DESC`, id)
	if err == nil && len(line) == 0 {
		return nil, fmt.Errorf("the journal %s has no execution %d any more", r.path, id)
	}
	return line, err
}

func (r *Reader) executions(ctx context.Context, detailed bool, query string, args ...any) ([]Execution, error) {
	alive := map[string]bool{} // one look at each run
	all, err := collect(ctx, r.db, func(rows *sql.Rows) (Execution, error) {
		e, err := r.scan(rows, detailed)
		if err != nil || e.Status != sessions.StatusRunning && !e.Detail.pending() {
			return e, err
		}
		if _, known := alive[e.Run]; !known {
			alive[e.Run] = r.alive(e.Run)
		}
		if !alive[e.Run] {
			e.lost()
		}
		return e, nil
	}, query, args...)
	for i := 0; i < len(all) && err == nil; i++ {
		if e := &all[i]; e.Status == StatusLost && !alive[e.Run] {
			err = r.recall(ctx, e, detailed)
		}
	}
	return all, err
}

// scan reads a row of executionColumns and a detail, which may be NULL.
func (r *Reader) scan(rows *sql.Rows, detailed bool) (e Execution, err error) {
	var (
		started, limit, took int64
		arguments, detail    sql.NullString
		t                    Trial
		experiment           sql.NullString
		number, depth        sql.NullInt64
		plan, stage, name    sql.NullString
		why, analysis        sql.NullString
		parent               sql.NullInt64
		maximize, buggy      sql.NullBool
		metric               sql.NullFloat64
	)
	err = rows.Scan(&e.ID, &e.Revision, &e.Run, &e.Place.InterpreterID, &e.Place.Execution, &e.Client, &e.Kind, &e.Code, &arguments,
		&started, &limit, &e.Parent, &e.Follows,
		&experiment, &number, &plan, &analysis, &parent, &stage, &depth, &name, &maximize, &metric, &buggy, &why,
		&e.Status, &took, &e.Memory, &e.Changed, &detail)
	if err != nil {
		return e, err
	}
	e.Started, e.Limit, e.ExecTime = timeOf(started), time.Duration(limit), time.Duration(took)
	if arguments.Valid {
		e.Arguments = json.RawMessage(arguments.String)
	}
	if experiment.Valid {
		t = Trial{
			Experiment: experiment.String, Number: int(number.Int64), Plan: plan.String, Analysis: analysis.String, Parent: parent.Int64,
			Stage: stage.String, Depth: int(depth.Int64), MetricName: name.String, Maximize: maximize.Bool,
			Buggy: buggy.Bool, Why: why.String,
		}
		if metric.Valid {
			t.Metric = &metric.Float64
		}
		e.Trial = &t
	}
	if detailed && detail.Valid {
		e.Detail, err = r.detail(detail.String, e.Kind)
	}
	return e, err
}

// detail decodes a detail and says where its files are.
func (r *Reader) detail(text string, kind sessions.Kind) (*Detail, error) {
	var d Detail
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, fmt.Errorf("a detail: %w", err)
	}
	d.Record.Kind = kind
	d.eachFile(func(file string) string {
		return filepath.Join(r.files, filepath.FromSlash(file))
	})
	for _, o := range []*Output{&d.Stdout, &d.Stderr} {
		if !o.Pending {
			continue
		}
		if _, err := os.Stat(o.Path); err == nil {
			o.Pending = false
		} else {
			o.Path = ""
		}
	}
	return &d, nil
}

// pending reports whether a file of an output is being made.
func (d *Detail) pending() bool { return d != nil && (d.Stdout.Pending || d.Stderr.Pending) }

// eachFile changes the names of all files that the journal keeps for an execution.
func (d *Detail) eachFile(change func(string) string) {
	files := []*string{&d.Stdout.Path, &d.Stderr.Path}
	for i := range d.Figures {
		files = append(files, &d.Figures[i].File)
	}
	for i := range d.Artifacts {
		files = append(files, &d.Artifacts[i].File)
	}
	for _, file := range files {
		if *file != "" {
			*file = change(*file)
		}
	}
}
