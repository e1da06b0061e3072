package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// How long a call waits for another process that holds the file. Several servers
// that write wait milliseconds for each other; after one that holds it for longer
// was met, the calls do not wait again until it is gone.
const (
	patience      = 2 * time.Second
	briefPatience = 50 * time.Millisecond
)

var errClosed = errors.New("the journal is closed")

// tx is a transaction. After its first failure, or a refusal, nothing more happens in it.
type tx struct {
	*Journal
	err error
}

// write runs do in a transaction. Only one does at a time.
func (j *Journal) write(do func(*tx)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return errClosed
	}
	if err := j.look(); err != nil {
		return err
	}
	err := j.takeLock()
	if err == nil {
		err = finish(context.Background(), j.conn, func() error {
			t := &tx{Journal: j}
			if len(j.known) == 0 { // the first time, or after a failure
				t.beginRun()
			}
			for p := range j.unrecorded {
				t.markLost("interpreter = ? AND number = ?", p.InterpreterID, p.Execution)
			}
			do(t)
			return t.err
		})
	}
	if j.locked = isBusy(err); j.locked {
		j.tried = time.Now()
	}
	if err != nil {
		clear(j.known)
		return inWords(err, j.path)
	}
	clear(j.unrecorded)
	return nil
}

// takeLock begins a transaction. It tries again at short intervals: SQLite's own wait
// sleeps so long between two looks that it starves beside a server that writes much.
func (j *Journal) takeLock() error {
	wait := j.patience
	if j.locked {
		wait = briefPatience
		if time.Since(j.tried) < briefPatience {
			wait = 0 // others have waited just now: they shall not queue
		}
	}
	for began := time.Now(); ; {
		_, err := j.conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
		if !isBusy(err) || time.Since(began) > wait {
			return err
		}
		time.Sleep(time.Millisecond + rand.N(2*time.Millisecond))
	}
}

// nextRevision returns a number that is greater than all before it of this run, also
// when the clock was put back. Only its own server writes a run.
func (j *Journal) nextRevision() int64 {
	j.revision = max(j.revision+1, time.Now().UnixMicro())
	return j.revision
}

// statement returns a prepared statement, nil if the transaction has failed.
func (t *tx) statement(query string) *sql.Stmt {
	if s := t.statements[query]; s != nil || t.err != nil {
		return s
	}
	s, err := t.conn.PrepareContext(context.Background(), query)
	if t.err = err; err == nil {
		t.statements[query] = s
	}
	return s
}

// exec runs a statement.
func (t *tx) exec(query string, args ...any) {
	if s := t.statement(query); t.err == nil {
		_, t.err = s.ExecContext(context.Background(), args...)
	}
}

// get reads one row, and reports whether there is one.
func (t *tx) get(query string, args []any, into ...any) bool {
	s := t.statement(query)
	if t.err != nil {
		return false
	}
	err := s.QueryRowContext(context.Background(), args...).Scan(into...)
	if !errors.Is(err, sql.ErrNoRows) {
		t.err = err
	}
	return err == nil
}

// upsert is a statement that inserts a row, or replaces that with the same key.
func upsert(table, key string, columns ...string) string {
	var replaced []string
	for _, column := range columns {
		if !slices.Contains(strings.Split(key, ", "), column) {
			replaced = append(replaced, column+" = excluded."+column)
		}
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s) ON CONFLICT (%s) DO UPDATE SET %s", table,
		strings.Join(columns, ", "), strings.Repeat(", ?", len(columns)-1), key, strings.Join(replaced, ", "))
}

func codeOf(err error) int {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return sqlite3.SQLITE_OK
	}
	return failure.Code() & 0xff // without what is more exact
}

func isBusy(err error) bool { return codeOf(err) == sqlite3.SQLITE_BUSY }

// inWords says what a reader can do about a failure of SQLite.
func inWords(err error, path string) error {
	switch codeOf(err) {
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("another process holds %s locked", path)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("the disk with %s is full", path)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%s can't be written: %w", path, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is damaged or no journal (%w); move it away, or choose another file with --journal", path, err)
	}
	return err
}
