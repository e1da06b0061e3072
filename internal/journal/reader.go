package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	_ "modernc.org/sqlite" // the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Reader reads a journal that others may write. It never writes, and nobody who
// writes waits for it. Its methods may be called by many at once.
type Reader struct {
	db   *sql.DB
	path string

	mu   sync.Mutex
	dead map[string]bool // runs whose server is known to be gone; none comes back
}

// OpenReader opens a journal to read. A file that is not there is an error that
// says so and names --journal.
func OpenReader(path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no journal at %s: no server has run with it yet, or --journal names another file", path)
	case err != nil:
		return nil, fmt.Errorf("opening the journal: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory and no journal: choose a file with --journal", path)
	}
	db, err := openToRead(path)
	if err != nil {
		return nil, err
	}
	return &Reader{db: db, path: path, dead: map[string]bool{}}, nil
}

// openToRead opens the file beside others who write it. Where SQLite could not make
// the small files that it shares with them, nobody writes: it is read as it is then.
func openToRead(path string) (*sql.DB, error) {
	db, err := tryToRead(path, "mode=ro")
	if code := codeOf(err); code != sqlite3.SQLITE_CANTOPEN && code != sqlite3.SQLITE_READONLY || fileSize(path+"-wal") > 0 {
		return db, err
	}
	if still, failed := tryToRead(path, "mode=ro", "immutable=1"); failed == nil {
		return still, nil
	}
	return nil, err
}

func tryToRead(path string, parameters ...string) (*sql.DB, error) {
	parameters = append(parameters, "_pragma=busy_timeout(2000)", "_pragma=query_only(1)")
	db, err := sql.Open("sqlite", source(path, parameters...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	version, err := schemaVersion(context.Background(), db, path)
	if err == nil && version != present {
		err = &olderError{version}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, inWords(err, path)), db.Close())
	}
	return db, nil
}

// olderError says that a journal has a version that only servers take, which bring it
// up to date.
type olderError struct{ version int }

func (e *olderError) Error() string {
	if e.version == 0 {
		return "it is empty: no server has written to it yet"
	}
	return fmt.Sprintf("it has version %d of the format, and this program reads %d; "+
		"a server of this version that is started with it brings it up to date", e.version, present)
}

// Is says of an empty file that it is as good as none: a server makes it one moment
// before it fills it.
func (e *olderError) Is(target error) bool { return e.version == 0 && target == fs.ErrNotExist }

// fileSize returns how large a file is, 0 where there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Close lets go of the file.
func (r *Reader) Close() error { return r.db.Close() }

const selectRuns = `SELECT id, started, ended, pid, version, config, python, steps, workspace, run_dir,
	task, name, drafts, debug_depth, debug_prob,
	(SELECT count(*) FROM executions WHERE run = runs.id),
	(SELECT count(*) FROM executions WHERE experiment IN (SELECT name FROM experiments WHERE run = runs.id)) FROM runs `

// Runs returns the newest runs, the newest first.
func (r *Reader) Runs(ctx context.Context, limit int) ([]Run, error) {
	return r.runs(ctx, selectRuns+"ORDER BY started DESC, id LIMIT ?", limit)
}

// Run finds a run by the beginning of its id, "" is the newest.
func (r *Reader) Run(ctx context.Context, id string) (*Run, error) {
	if id == "" {
		newest, err := r.Runs(ctx, 1)
		return oneOf(newest, err, fmt.Sprintf("the journal %s has no runs yet", r.path), runName)
	}
	from, to := prefix(strings.ToUpper(id))
	found, err := r.runs(ctx, selectRuns+"WHERE id >= ? AND id < ? ORDER BY started DESC LIMIT 6", from, to)
	return oneOf(found, err, fmt.Sprintf("the journal %s has no run whose id begins with %q; understudy watch lists them", r.path, id), runName)
}

func (r *Reader) runs(ctx context.Context, query string, args ...any) ([]Run, error) {
	return collect(ctx, r.db, func(rows *sql.Rows) (run Run, err error) {
		err = rows.Scan(&run.ID, (*stamp)(&run.Started), (*stamp)(&run.Ended), &run.PID, &run.Version, &run.Config, &run.Python, &run.Steps,
			&run.Workspace, &run.RunDir, &run.Task, &run.Name, &run.Search.Drafts, &run.Search.DebugDepth, &run.Search.DebugProb,
			&run.Executions, &run.Trials)
		run.Alive = run.Ended.IsZero() && r.alive(run.ID)
		return run, err
	}, query, args...)
}

func runName(r Run) string { return r.ID + " of " + r.Started.Format(time.DateTime) }

const selectInterpreters = `SELECT id, run, client, workdir, parent, origin_interpreter, origin_execution,
	present_interpreter, present_execution, created, ended FROM interpreters `

// Interpreters returns those of a run, oldest first.
func (r *Reader) Interpreters(ctx context.Context, run string) ([]Interpreter, error) {
	return r.interpreters(ctx, selectInterpreters+"WHERE run = ? ORDER BY created, id", run)
}

// Interpreter finds one: by its name, as "py1", in the newest run that has such a one;
// by name in a run, as "K3QF/py1"; by the beginning of its id, in all runs. "" is the
// last that ran something.
func (r *Reader) Interpreter(ctx context.Context, id string) (*Interpreter, error) {
	if id == "" {
		last, err := r.interpreters(ctx, selectInterpreters+"WHERE id = (SELECT interpreter FROM executions ORDER BY id DESC LIMIT 1)")
		return oneOf(last, err, fmt.Sprintf("the journal %s has no executions yet", r.path), interpreterName)
	}
	run, name, inRun := strings.Cut(id, "/")
	if !inRun {
		run, name = "", id
	}
	found, err := r.named(ctx, run, name)
	if len(found) == 0 && err == nil && !inRun {
		from, to := prefix(strings.ToLower(id))
		found, err = r.interpreters(ctx, selectInterpreters+"WHERE id >= ? AND id < ? ORDER BY created DESC LIMIT 6", from, to)
	}
	return oneOf(found, err, fmt.Sprintf("the journal %s has no interpreter that is called %q or whose id begins with that; "+
		"understudy watch lists them", r.path, id), interpreterName)
}

// named returns the interpreters of a name in the newest of the runs whose id begins
// with run: the last of each client that has one of that name.
func (r *Reader) named(ctx context.Context, run, name string) ([]Interpreter, error) {
	from, to := prefix(name + "-")
	firstRun, lastRun := prefix(strings.ToUpper(run))
	found, err := r.interpreters(ctx, selectInterpreters+`WHERE id >= ? AND id < ? AND length(id) = ? AND run >= ? AND run < ?
		ORDER BY (SELECT started FROM runs WHERE runs.id = run) DESC, created DESC LIMIT 6`,
		from, to, len(name)+len("-")+keyLength, firstRun, lastRun)
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(i Interpreter) bool {
		earlier := seen[i.Client]
		seen[i.Client] = true
		return earlier || i.Run != found[0].Run
	}), err
}

// keyLength is how many characters follow an interpreter's name and a dash in its id.
const keyLength = 32

func (r *Reader) interpreters(ctx context.Context, query string, args ...any) ([]Interpreter, error) {
	return collect(ctx, r.db, func(rows *sql.Rows) (i Interpreter, err error) {
		err = rows.Scan(&i.ID, &i.Run, &i.Client, &i.Workdir, &i.Parent, &i.Origin.InterpreterID, &i.Origin.Execution,
			&i.Present.InterpreterID, &i.Present.Execution, (*stamp)(&i.Created), (*stamp)(&i.Ended))
		return i, err
	}, query, args...)
}

func interpreterName(i Interpreter) string { return i.ID }

// Experiments returns the names of a run's experiments, the oldest first.
func (r *Reader) Experiments(ctx context.Context, run string) ([]string, error) {
	return collect(ctx, r.db, func(rows *sql.Rows) (name string, err error) {
		err = rows.Scan(&name)
		return name, err
	}, "SELECT name FROM experiments WHERE run = ? AND trials > 0 ORDER BY number", run)
}

// Heartbeats returns what the interpreters of a run do now, oldest first; none when
// its server has ended.
func (r *Reader) Heartbeats(ctx context.Context, run string) ([]Heartbeat, error) {
	if !r.alive(run) {
		return nil, nil
	}
	return collect(ctx, r.db, func(rows *sql.Rows) (p Heartbeat, err error) {
		var calls []byte
		err = rows.Scan(&p.Run, (*stamp)(&p.At), &p.InterpreterID, &p.Client, &p.Memory, &p.Waiting, &p.Execution, &p.Code,
			(*stamp)(&p.Started), &p.Limit, &p.Tail, &calls)
		_ = json.Unmarshal(calls, &p.ToolCalls) // servers write it
		if _, lines, cut := strings.Cut(p.Tail, "\n"); cut && lines != "" && utf8.RuneCountInString(p.Tail) == watchedTail {
			p.Tail = lines
		}
		return p, err
	}, `SELECT run, at, interpreter, client, memory, waiting, execution, code, started, time_limit, substr(tail, -?), tool_calls
		FROM pulses WHERE run = ? ORDER BY position`, watchedTail, run)
}

// watchedTail is how much of a run's output one looks at while it runs, in characters:
// they are read a few times a second.
const watchedTail = 1000

// collect returns the rows of a query.
func collect[T any](ctx context.Context, db *sql.DB, scan func(*sql.Rows) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// NotFoundError says that nothing, or more than one, has the id that was asked for.
type NotFoundError struct{ text string }

func (e *NotFoundError) Error() string { return e.text }

// oneOf returns the one that was found, or an error about none or several.
func oneOf[T any](found []T, err error, none string, name func(T) string) (*T, error) {
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, &NotFoundError{none}
	case len(found) > 1:
		names, more := []string{}, ""
		for i := range found[:min(5, len(found))] {
			names = append(names, name(found[i]))
		}
		if len(found) > 5 {
			more = " and more"
		}
		return nil, &NotFoundError{fmt.Sprintf("several begin with that: %s%s; give more of the id", strings.Join(names, ", "), more)}
	}
	return &found[0], nil
}

// prefix returns the range of ids, which are letters and digits, that begin with one.
func prefix(id string) (from, to string) { return id, id + "~" }

// stamp is a time that is stored in nanoseconds, zero as 0.
type stamp time.Time

// Scan takes it from a row.
func (s *stamp) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("%v is no time", value)
	}
	if *s = stamp(time.Time{}); n != 0 {
		*s = stamp(time.Unix(0, n))
	}
	return nil
}

// nanoseconds is the number that stamp takes.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
