package journal

import (
	"cmp"
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

// selectExecutions reads heads. Its two parameters say whether details are read too, and
// what a lost execution had printed; of such a one its last heartbeat says how far it had come.
// The servers of its calls are names in lines: to group them SQLite would sort.
const selectExecutions = `SELECT e.id, e.revision, e.run, e.interpreter, e.number, e.client, e.kind, e.code, coalesce(e.arguments, ''),
		e.started, e.time_limit, e.parent, e.follows, e.status, e.exec_time, e.memory, e.changed,
		e.experiment IS NOT NULL, coalesce(e.experiment, ''), coalesce(e.trial, 0), coalesce(e.plan, ''), coalesce(e.analysis, ''),
		coalesce(e.trial_parent, 0), coalesce(e.stage, ''), coalesce(e.depth, 0), coalesce(e.metric_name, ''),
		coalesce(e.maximize, 0), e.metric, coalesce(e.buggy, 0), coalesce(e.why, ''),
		iif(?, coalesce(e.detail, (SELECT detail FROM details WHERE execution = e.id), ''), ''),
		coalesce(p.at, 0), coalesce(p.memory, 0), iif(?, coalesce(p.tail, ''), ''),
		coalesce((SELECT group_concat(server, char(10)) FROM tool_calls WHERE execution = e.id), '')
	FROM executions e `

const joinHeartbeats = ` LEFT JOIN pulses p ON p.interpreter = e.interpreter AND p.execution = e.number AND e.status IN ('running', 'lost') `

// Executions returns those that are asked for, oldest first.
func (r *Reader) Executions(ctx context.Context, q Query) ([]Execution, error) {
	query, args := q.sql()
	found, err := r.executions(ctx, q.Detail, query, args...)
	slices.SortFunc(found, func(a, b Execution) int { return cmp.Compare(a.ID, b.ID) })
	return found, err
}

// sql is the query, the newest first. It says which index finds the rows: SQLite
// would rather read the whole table backwards than sort a few rows. In an
// interpreter, and in an experiment, the order of the numbers is that of the ids; in
// a run the newest are those that changed last.
func (q Query) sql() (query string, args []any) {
	index, order := "NOT INDEXED", "id"
	switch {
	case q.ID != 0:
	case q.Interpreter != "":
		index, order = "INDEXED BY sqlite_autoindex_executions_1", "number" // of UNIQUE
	case q.Experiment != "" && q.Since == 0:
		index, order = "INDEXED BY trials", "trial"
	case q.Run != "":
		index, order = "INDEXED BY executions_of_run", "revision"
	}
	var b strings.Builder
	b.WriteString(selectExecutions + index + joinHeartbeats + "WHERE 1")
	for _, c := range []struct {
		wanted    bool
		condition string
		value     any
	}{
		{q.ID != 0, "e.id = ?", q.ID}, {q.Since > 0, "e.revision > ?", q.Since}, {q.Run != "", "e.run = ?", q.Run},
		{q.Interpreter != "", "e.interpreter = ?", q.Interpreter}, {q.Experiment != "", "e.experiment = ?", q.Experiment},
		{q.Trials, "e.experiment IS NOT NULL", nil},
	} {
		if c.wanted {
			b.WriteString(" AND " + c.condition)
			if c.value != nil {
				args = append(args, c.value)
			}
		}
	}
	b.WriteString(" ORDER BY e." + order + " DESC LIMIT ?")
	return b.String(), append(args, cmp.Or(q.Limit, -1))
}

// Line returns the executions by which the state after one came to be, the first
// first, with their details. The one is always among them, also when it lost its
// process and left no state.
func (r *Reader) Line(ctx context.Context, id int64) ([]Execution, error) {
	line, err := r.executions(ctx, true, selectExecutions+joinHeartbeats+`WHERE e.id IN (WITH RECURSIVE up(id, parent) AS (
			SELECT id, parent FROM executions WHERE id = ?
			UNION ALL SELECT p.id, p.parent FROM up JOIN executions p ON p.id = up.parent AND p.id < up.id
		) SELECT id FROM up) ORDER BY e.id`, id)
	if err == nil && len(line) == 0 {
		return nil, fmt.Errorf("the journal %s has no execution %d any more", r.path, id)
	}
	return line, err
}

// executions runs a query that begins with selectExecutions.
func (r *Reader) executions(ctx context.Context, detailed bool, query string, args ...any) ([]Execution, error) {
	alive := map[string]bool{} // one look at each run
	found, err := collect(ctx, r.db, func(rows *sql.Rows) (Execution, error) {
		e, last, err := r.scan(rows)
		if err != nil || e.Status != sessions.StatusRunning && e.Status != StatusLost {
			return e, err
		}
		if _, known := alive[e.Run]; !known {
			alive[e.Run] = r.alive(e.Run)
		}
		if !alive[e.Run] {
			e.lost(last, detailed)
		}
		return e, nil
	}, query, append([]any{detailed, detailed}, args...)...)
	for i := range found {
		if e := &found[i]; err == nil && e.Detail != nil && len(e.ToolCalls) > 0 {
			e.Detail.ToolUses, err = r.toolUses(ctx, e.ID)
		}
	}
	return found, err
}

// lastHeartbeat is what its server said last of an execution.
type lastHeartbeat struct {
	at     time.Time
	memory uint64
	tail   string
}

// scan reads a row of selectExecutions.
func (r *Reader) scan(rows *sql.Rows) (e Execution, last lastHeartbeat, err error) {
	var arguments, detail, servers string
	var isTrial bool
	var t Trial
	err = rows.Scan(&e.ID, &e.Revision, &e.Run, &e.Place.InterpreterID, &e.Place.Execution, &e.Client, &e.Kind, &e.Code, &arguments,
		(*stamp)(&e.Started), &e.Limit, &e.Parent, &e.Follows, &e.Status, &e.ExecTime, &e.Memory, &e.Changed,
		&isTrial, &t.Experiment, &t.Number, &t.Plan, &t.Analysis, &t.Parent, &t.Stage, &t.Depth, &t.MetricName,
		&t.Maximize, &t.Metric, &t.Buggy, &t.Why, &detail, (*stamp)(&last.at), &last.memory, &last.tail, &servers)
	if err != nil {
		return e, last, err
	}
	if arguments != "" {
		e.Arguments = json.RawMessage(arguments)
	}
	if isTrial {
		e.Trial = &t
	}
	e.ToolCalls = counted(servers)
	if detail != "" {
		e.Detail, err = r.detail(detail, e.Kind)
	}
	return e, last, err
}

// lost is how an execution stands whose server was killed while it ran. Its last heartbeat
// tells how long it had run, and what it had printed, both streams in one.
func (e *Execution) lost(last lastHeartbeat, detailed bool) {
	if e.Status == sessions.StatusRunning {
		e.Status = StatusLost
		if e.Trial != nil {
			e.Trial.Buggy, e.Trial.Why = true, "its server was killed while it ran"
		}
	}
	if e.Status != StatusLost || last.at.IsZero() { // it was over before anything was said of it
		return
	}
	e.ExecTime, e.Memory = max(0, last.at.Sub(e.Started)), last.memory
	if detailed && e.Detail == nil {
		e.Detail = &Detail{Record: sessions.Result{Status: StatusLost, Kind: e.Kind}}
		if last.tail != "" {
			e.Detail.TermOut, e.Detail.Stdout = []string{last.tail}, Output{Text: last.tail, Size: int64(len(last.tail))}
		}
	}
}

// detail decodes a detail and says where its files are.
func (r *Reader) detail(text string, kind sessions.Kind) (*Detail, error) {
	var d Detail
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, fmt.Errorf("a detail: %w", err)
	}
	d.Record.Kind = kind
	files := []*string{&d.Stdout.Path, &d.Stderr.Path}
	for i := range d.Figures {
		files = append(files, &d.Figures[i].File)
	}
	for i := range d.Artifacts {
		files = append(files, &d.Artifacts[i].File)
	}
	for _, file := range files {
		if *file != "" {
			*file = filepath.Join(filesOf(r.path), filepath.FromSlash(*file))
		}
	}
	for _, o := range []*Output{&d.Stdout, &d.Stderr} {
		if !o.Pending {
			continue
		}
		if _, err := os.Stat(o.Path); err != nil {
			o.lose()
		}
		o.Pending = false
	}
	return &d, nil
}
