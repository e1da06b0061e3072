package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"understudy/sessions"
)

// Options are how a server keeps its journal.
type Options struct {
	// Run says who writes. Its ID is made, and Started is now.
	Run Run
	// Keep is how long runs are kept once they have ended; 0 is for ever.
	Keep time.Duration
	// Size is how large the journal may become, with its files, in bytes, before the
	// oldest runs that have ended are removed; 0 sets no limit.
	Size   int64
	Logger *slog.Logger
}

// Journal records what one server does. It is a sessions.Recorder.
//
// What it has stored survives the death of any process at any moment. It is written
// with synchronous=NORMAL: when the whole machine loses its power the last moments
// may be missing, and the file is sound.
type Journal struct {
	path    string
	options Options
	run     string
	log     *slog.Logger
	started time.Time
	saved   func(experiment string)
	// Old runs are removed as long as life goes on.
	life     context.Context //nolint:containedctx // it is the journal's own
	end      context.CancelFunc
	working  sync.WaitGroup
	patience time.Duration // how long a call waits for the lock; tests wait longer

	masksMu sync.Mutex
	masks   map[string]*masker // by the secrets

	mu         sync.Mutex
	lock       *flock.Flock
	lockFile   os.FileInfo
	file       os.FileInfo // the one that is open
	looked     time.Time   // when it was last made sure that it is that at the path
	loss       error       // what was lost, and no answer has said
	db         *sql.DB
	conn       *sql.Conn // the one that writes
	statements map[string]*sql.Stmt
	revision   int64 // the last one
	closed     bool
	locked     bool                       // another process held it at the last try
	known      map[string]bool            // interpreters that are in the file
	unrecorded map[sessions.StateRef]bool // ended, and storing that has failed
	tried      time.Time                  // when that was
}

// Open makes or opens the journal at path and begins a run in it. Its file and the
// directory beside it are for their owner alone.
func Open(path string, options Options) (*Journal, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := prepare(path); err != nil {
		return nil, err
	}
	j := &Journal{
		path: path, options: options, run: rand.Text()[:10], started: time.Now(), log: options.Logger, patience: patience,
		masks: map[string]*masker{}, statements: map[string]*sql.Stmt{},
		known: map[string]bool{}, unrecorded: map[sessions.StateRef]bool{},
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if j.lock, j.lockFile, err = hold(path, j.run); err != nil {
		return nil, err
	}
	if err := j.connect(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal %s: %w", path, inWords(err, path)), j.letGo())
	}
	j.life, j.end = context.WithCancel(context.Background())
	j.working.Go(j.upkeep)
	return j, nil
}

// prepare makes the journal's directories, and its file so that nobody else may
// ever read it.
func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the journal's directory: %w", err)
	}
	if err := checkFilesystem(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the journal: %w", err)
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return fmt.Errorf("keeping the journal from other users: %w", err)
	}
	return nil
}

// Notify has saved told of an experiment whenever another trial of it is stored. It
// must not wait: a call does. It is set before anything is recorded.
func (j *Journal) Notify(saved func(experiment string)) { j.saved = saved }

// SetPython notes the version of the Python that runs, which is known later than the
// rest of the run.
func (j *Journal) SetPython(version string) error {
	return j.write(func(t *tx) {
		j.options.Run.Python = version
		t.exec("UPDATE runs SET python = ? WHERE id = ?", version, j.run)
	})
}

// RunID returns the id of this run.
func (j *Journal) RunID() string { return j.run }

// Path returns where the journal is.
func (j *Journal) Path() string { return j.path }

// mostLog is how large the log of what is written stays once nobody reads any more.
const mostLog = 32 << 20

// connect opens the file, brings it to the present version, and begins the run.
func (j *Journal) connect() error {
	ctx := context.Background()
	var err error
	// auto_vacuum counts only before the first table is made. The log of what is written grows
	// while somebody reads, and would stay as large as it ever was.
	j.db, err = sql.Open("sqlite", source(j.path, "mode=rw", fmt.Sprintf("_pragma=busy_timeout(%d)", patience.Milliseconds()),
		"_pragma=auto_vacuum(incremental)", "_pragma=journal_mode(wal)", "_pragma=synchronous(normal)",
		fmt.Sprintf("_pragma=journal_size_limit(%d)", mostLog)))
	if err != nil {
		return err
	}
	if j.conn, err = j.db.Conn(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, j.conn, j.path); err != nil {
		return err
	}
	t := &tx{Journal: j}
	if t.beginRun(); t.err != nil {
		return t.err
	}
	if j.file, err = os.Stat(j.path); err != nil {
		return err
	}
	_, err = j.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0") // see takeLock
	return err
}

// beginRun stores this run, if it is not there.
func (t *tx) beginRun() {
	r := t.options.Run
	t.exec(`INSERT INTO runs (id, started, pid, version, config, python, steps, workspace, run_dir,
			task, name, drafts, debug_depth, debug_prob)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		t.run, t.started.UnixNano(), r.PID, r.Version, r.Config, r.Python, r.Steps, r.Workspace, r.RunDir,
		r.Task, r.Name, r.Search.Drafts, r.Search.DebugDepth, r.Search.DebugProb)
}

// Close ends the run, and its interpreters if their own ends were not told. Recording
// is refused from then on.
func (j *Journal) Close(ctx context.Context) error {
	j.end()
	j.working.Wait()
	now := time.Now().UnixNano()
	err := j.write(func(t *tx) {
		t.exec("UPDATE runs SET ended = ? WHERE id = ?", now, j.run)
		t.exec("UPDATE interpreters SET ended = ? WHERE run = ? AND ended = 0", now, j.run)
		t.exec("DELETE FROM pulses WHERE run = ?", j.run)
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if err == nil && j.conn != nil {
		// Whoever reads keeps some of the log from being emptied: it stays then.
		_, err = j.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(err, j.letGo())
}

// letGo closes the file and gives back the lock, with the run's directory if it is
// empty.
func (j *Journal) letGo() error {
	err := errors.Join(j.disconnect(), j.lock.Close())
	file := lockOf(j.path, j.run)
	_ = os.Remove(file)
	_ = os.Remove(filepath.Dir(file)) // not while files are in it
	return err
}

// disconnect closes the file. There may be none.
func (j *Journal) disconnect() (err error) {
	for _, statement := range j.statements {
		err = errors.Join(err, statement.Close())
	}
	clear(j.statements)
	clear(j.known)
	if j.conn != nil {
		err = errors.Join(err, j.conn.Close())
	}
	if j.db != nil {
		err = errors.Join(err, j.db.Close())
	}
	j.conn, j.db, j.file = nil, nil, nil
	return err
}

// lookEvery is how often it is made sure that the journal's file and lock are still
// those that are open.
const lookEvery = time.Second

// look begins anew when the file at the path is not the one that is open, and locks
// again when the lock is not: they were removed, moved or replaced. The caller holds mu.
func (j *Journal) look() error {
	if time.Since(j.looked) < lookEvery {
		return nil
	}
	clear(j.known) // others may have removed their rows
	if info, err := os.Stat(lockOf(j.path, j.run)); err != nil || !os.SameFile(info, j.lockFile) {
		lock, info, err := hold(j.path, j.run)
		if err != nil {
			return err
		}
		_ = j.lock.Close() // nobody can see it any more
		j.lock, j.lockFile = lock, info
		j.loss = errors.Join(j.loss, fmt.Errorf("the directory %s was removed while it was in use, and files of earlier runs with it", filesOf(j.path)))
	}
	if info, err := os.Stat(j.path); err != nil || !os.SameFile(info, j.file) {
		if err := j.reopen(); err != nil { // each call tries it again
			return fmt.Errorf("the journal %s was removed or replaced, and can't be opened again: %w", j.path, inWords(err, j.path))
		}
		j.loss = errors.Join(j.loss, fmt.Errorf("%s was removed or replaced while it was in use: what was recorded before is not in it", j.path))
	}
	j.looked = time.Now()
	return nil
}

// reopen opens the file at the path as at the start, and goes on with this run in it.
func (j *Journal) reopen() error {
	j.log.Error("the journal was removed or replaced while it was in use: beginning anew", "journal", j.path)
	if err := j.disconnect(); err != nil {
		j.log.Warn("closing the journal that was removed", "error", err)
	}
	if err := prepare(j.path); err != nil {
		return err
	}
	if err := j.connect(); err != nil {
		return errors.Join(err, j.disconnect())
	}
	return nil
}

// takeLoss returns what was lost since it was last asked, an *sessions.Incomplete.
func (j *Journal) takeLoss(missing error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if missing = errors.Join(j.loss, missing); missing == nil {
		return nil
	}
	j.loss = nil
	return &sessions.Incomplete{Missing: missing}
}

// mostMasks is how many maskers are kept: to make one for many keys takes as long as
// some calls.
const mostMasks = 16

// maskFor returns what masks these secrets.
func (j *Journal) maskFor(secrets []string) *masker {
	if len(secrets) == 0 {
		return nil
	}
	key := fmt.Sprintf("%q", secrets)
	j.masksMu.Lock()
	defer j.masksMu.Unlock()
	m, known := j.masks[key]
	if !known {
		if len(j.masks) == mostMasks {
			clear(j.masks)
		}
		m = newMasker(secrets)
		j.masks[key] = m
	}
	return m
}
