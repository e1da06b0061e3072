package journal

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// checkpointAfter is after how many transactions the log is brought into the
	// file: 2 to 10 MB.
	checkpointAfter = 128
	// cleanAfter is after how many the journal is looked at for what is old or too
	// much, beside once a day.
	cleanAfter = 20_000
	cleanEvery = 24 * time.Hour
	// longestLog is how large the log may become, in bytes, before calls wait until
	// it is brought into the file: many that write at once could keep it from
	// ever being emptied.
	longestLog = 32 << 20
	// batch is how many executions are removed in one transaction: calls wait for it.
	batch = 50
)

// upkeep is what is done beside the calls: the log is brought into the file, and
// runs are removed that are old or too much.
type upkeep struct {
	journal *Journal
	count   atomic.Int64 // transactions
	wake    chan struct{}
	life    context.Context
	end     context.CancelFunc
	working sync.WaitGroup
}

func (u *upkeep) start(j *Journal) {
	u.journal, u.wake = j, make(chan struct{}, 1)
	u.life, u.end = context.WithCancel(context.Background())
	u.working.Go(u.work)
}

func (u *upkeep) stop() {
	u.end()
	u.working.Wait()
}

// written counts a transaction. It never waits.
func (u *upkeep) written() {
	if u.count.Add(1)%checkpointAfter != 0 {
		return
	}
	select {
	case u.wake <- struct{}{}:
	default: // it is at it
	}
}

func (u *upkeep) work() {
	daily := time.NewTicker(cleanEvery)
	defer daily.Stop()
	u.tell("removing old runs", u.journal.clean(u.life))
	cleaned := u.count.Load()
	for {
		select {
		case <-u.life.Done():
			return
		case <-daily.C:
			cleaned = u.count.Load()
			u.tell("removing old runs", u.journal.clean(u.life))
		case <-u.wake:
			u.tell("bringing the journal's log into the file", u.journal.checkpoint(u.life))
			if now := u.count.Load(); now-cleaned >= cleanAfter {
				cleaned = now
				u.tell("removing old runs", u.journal.clean(u.life))
			}
		}
	}
}

func (u *upkeep) tell(what string, err error) {
	if err != nil && u.life.Err() == nil {
		u.journal.log.Warn(what, "journal", u.journal.path, "error", err)
	}
}

// checkpoint brings the log into the file, through a connection of its own, so that
// calls go on writing.
func (j *Journal) checkpoint(ctx context.Context) error {
	db, err := sql.Open("sqlite", source(j.path, "mode=rw", "_pragma=busy_timeout(0)", "_pragma=synchronous(normal)", "_pragma=wal_autocheckpoint(0)"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	if fileSize(j.path+"-wal") > longestLog {
		// What came meanwhile is little, and while nobody writes all of it gets there.
		j.mu.Lock()
		_, failed := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		j.mu.Unlock()
		err = errors.Join(err, failed)
	}
	return errors.Join(err, db.Close())
}

// clean removes runs that have ended longer ago than is wanted, and the oldest ones
// that have ended until the journal is no larger than is wanted.
func (j *Journal) clean(ctx context.Context) error {
	ended, err := j.endedRuns(ctx)
	if err != nil {
		return err
	}
	if err := j.warnOfOthers(ctx, ended); err != nil {
		return err
	}
	removed := false
	for i, run := range ended {
		tooOld := j.options.Keep > 0 && time.Since(run.Ended) > j.options.Keep
		if !tooOld {
			if tooLarge, err := j.tooLarge(ctx, ended[i:]); err != nil || !tooLarge {
				return errors.Join(err, j.shrink(ctx, removed))
			}
		}
		j.log.Info("removing a run from the journal", "run", run.ID, "ended", run.Ended)
		if err := j.remove(ctx, run.ID); err != nil {
			return err
		}
		removed = true
	}
	return j.shrink(ctx, removed)
}

// endedRuns returns the runs whose servers are gone, those first that ended first.
// Of one that was killed the end is that of the last execution, or its beginning.
func (j *Journal) endedRuns(ctx context.Context) ([]Run, error) {
	r, err := OpenReader(j.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	runs, err := collect(ctx, r.db, func(rows *sql.Rows) (run Run, err error) {
		var ended int64
		err = rows.Scan(&run.ID, &ended)
		run.Ended = timeOf(ended)
		run.Alive = r.alive(run.ID)
		return run, err
	}, `SELECT id, iif(ended > 0, ended, coalesce((SELECT started FROM executions WHERE id = (SELECT max(id) FROM executions WHERE run = runs.id)), started)) AS gone
		FROM runs WHERE id <> ? ORDER BY gone, id`, j.run)
	kept := runs[:0]
	for _, run := range runs {
		if !run.Alive {
			kept = append(kept, run)
		}
	}
	return kept, err
}

// tooLarge reports whether the journal with the files of these runs is larger than is
// wanted. What is free in the file does not count, and no file that would stay.
func (j *Journal) tooLarge(ctx context.Context, ended []Run) (bool, error) {
	if j.options.Size <= 0 {
		return false, nil
	}
	var pages, free, size int64
	j.mu.Lock()
	err := errClosed
	if j.conn != nil {
		err = errors.Join(
			j.conn.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages),
			j.conn.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free),
			j.conn.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size))
	}
	j.mu.Unlock()
	if err != nil {
		return false, err
	}
	total := (pages - free) * size
	for _, run := range ended {
		files, err := sizeOf(ctx, filepath.Join(filesOf(j.path), run.ID))
		if err != nil {
			return false, err
		}
		total += files
	}
	return total > j.options.Size, nil
}

// warnOfOthers tells of files that removing runs can't free, where they alone are more
// than is wanted.
func (j *Journal) warnOfOthers(ctx context.Context, ended []Run) error {
	if j.options.Size <= 0 {
		return nil
	}
	others, err := sizeOf(ctx, filesOf(j.path))
	for _, run := range ended {
		files, failed := sizeOf(ctx, filepath.Join(filesOf(j.path), run.ID))
		others, err = others-files, errors.Join(err, failed)
	}
	if err == nil && others > j.options.Size {
		j.log.Warn("the files of runs that live, or that the journal does not know, are more than --journal-size",
			"directory", filesOf(j.path), "bytes", others)
	}
	return err
}

// sizeOf returns how much the files below a directory hold, in bytes.
func sizeOf(ctx context.Context, directory string) (total int64, err error) {
	err = filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // removed by another server
			err = nil
		}
		return errors.Join(err, ctx.Err())
	})
	return total, err
}

// remove removes a run: its files first, so that the journal knows of them as long
// as there are any, then its rows, some at a time.
func (j *Journal) remove(ctx context.Context, run string) error {
	if !runID.MatchString(run) || run == j.run {
		return errors.New("refusing to remove the run " + run)
	}
	if err := os.RemoveAll(filepath.Join(filesOf(j.path), run)); err != nil {
		return err
	}
	for {
		left := false
		err := j.write(func() error {
			const some = "SELECT id FROM executions WHERE run = ? LIMIT ?"
			var one int64
			err := errors.Join(
				j.exec("DELETE FROM details WHERE execution IN ("+some+")", run, batch),
				j.exec("DELETE FROM executions WHERE id IN ("+some+")", run, batch))
			if err == nil {
				left, err = j.get("SELECT id FROM executions WHERE run = ? LIMIT 1", []any{run}, &one)
			}
			if err != nil || left {
				return err
			}
			return errors.Join(
				j.exec("DELETE FROM interpreters WHERE run = ?", run), j.exec("DELETE FROM experiments WHERE run = ?", run),
				j.exec("DELETE FROM pulses WHERE run = ?", run), j.exec("DELETE FROM runs WHERE id = ?", run))
		})
		if err != nil || !left || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// shrink gives free pages back to the disk, some at a time.
func (j *Journal) shrink(ctx context.Context, removed bool) error {
	for before := -1; removed && ctx.Err() == nil; {
		var free int
		j.mu.Lock()
		if j.conn == nil {
			j.mu.Unlock()
			return errClosed
		}
		err := j.conn.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free)
		if err == nil && free > 0 && free != before {
			_, err = j.conn.ExecContext(ctx, "PRAGMA incremental_vacuum(256)")
		}
		j.mu.Unlock()
		if err != nil || free == 0 || free == before {
			return err
		}
		before = free
	}
	return nil
}
