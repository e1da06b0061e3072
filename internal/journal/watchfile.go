package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"understudy/sessions"
)

// lookEvery is how often it is made sure that the journal's file and lock are still
// those that are open.
const lookEvery = time.Second

// look begins anew when the file at the path is not the one that is open: it was
// removed, moved or replaced. The caller holds mu.
func (j *Journal) look() error {
	if time.Since(j.looked) < lookEvery {
		return nil
	}
	j.looked = time.Now()
	clear(j.known) // others may have removed their rows
	if info, err := os.Stat(lockOf(j.path, j.run)); err != nil || !os.SameFile(info, j.lockFile) {
		if err := j.lockAgain(); err != nil {
			return err
		}
		j.loss = errors.Join(j.loss, fmt.Errorf("the directory %s was removed while it was in use, and files of earlier runs with it", filesOf(j.path)))
	}
	info, err := os.Stat(j.path)
	if err == nil && os.SameFile(info, j.file) {
		return nil
	}
	j.log.Error("the journal was removed or replaced while it was in use: beginning anew", "journal", j.path)
	if err := j.reopen(); err != nil {
		return fmt.Errorf("the journal %s was removed or replaced, and can't be opened again: %w", j.path, inWords(err, j.path))
	}
	j.loss = errors.Join(j.loss, fmt.Errorf("%s was removed or replaced while it was in use: what was recorded before is not in it", j.path))
	return nil
}

// lockAgain makes the run's directory and lock once more.
func (j *Journal) lockAgain() error {
	lock, info, err := hold(j.path, j.run)
	if err != nil {
		return err
	}
	old := j.lock
	j.lock, j.lockFile = lock, info
	_ = old.Close() // nobody can see it any more
	return nil
}

// reopen opens the file at the path as at the start, and goes on with this run in it.
func (j *Journal) reopen() error {
	j.looked = time.Time{} // until it is open each call tries it
	if err := j.disconnect(); err != nil {
		j.log.Warn("closing the journal that was removed", "error", err)
	}
	if err := prepare(j.path); err != nil {
		return err
	}
	if err := j.connect(); err != nil {
		return errors.Join(err, j.disconnect())
	}
	j.looked = time.Now()
	return nil
}

// disconnect closes the file. There may be none.
func (j *Journal) disconnect() error {
	var errs []error
	for _, statement := range j.statements {
		errs = append(errs, statement.Close())
	}
	clear(j.statements)
	clear(j.known)
	if j.conn != nil {
		errs = append(errs, j.conn.Close())
	}
	if j.db != nil {
		errs = append(errs, j.db.Close())
	}
	j.conn, j.db, j.file = nil, nil, nil
	return errors.Join(errs...)
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

// beginRun stores this run, if it is not there.
func (j *Journal) beginRun(ctx context.Context) error {
	r := j.options.Run
	_, err := j.conn.ExecContext(ctx, `INSERT INTO runs (id, started, pid, version, config, python, steps, workspace, run_dir,
			task, name, drafts, debug_depth, debug_prob)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		j.run, j.started.UnixNano(), r.PID, r.Version, r.Config, r.Python, r.Steps, r.Workspace, r.RunDir,
		r.Task, r.Name, r.Search.Drafts, r.Search.DebugDepth, r.Search.DebugProb)
	return err
}
