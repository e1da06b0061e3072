package journal

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// cleanEvery is how often the journal is looked at for what is old or too much.
	cleanEvery = 24 * time.Hour
	// batch is how many executions are removed in one transaction: calls wait for it.
	batch = 50
)

// upkeep removes runs that are old or too much, at the start and then daily.
func (j *Journal) upkeep() {
	daily := time.NewTicker(cleanEvery)
	defer daily.Stop()
	for {
		if err := j.clean(j.life); err != nil && j.life.Err() == nil {
			j.log.Warn("removing old runs", "journal", j.path, "error", err)
		}
		select {
		case <-j.life.Done():
			return
		case <-daily.C:
		}
	}
}

// clean removes runs that have ended longer ago than is wanted, and the oldest ones
// that have ended until the journal is no larger than is wanted. No other files than
// theirs count: they would stay.
func (j *Journal) clean(ctx context.Context) error {
	r, err := OpenReader(j.path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	ended, err := r.endedRuns(ctx, j.run)
	sizes, files := make([]int64, len(ended)), int64(0)
	for i := 0; err == nil && i < len(ended) && j.options.Size > 0; i++ {
		sizes[i], err = sizeOf(filepath.Join(filesOf(j.path), ended[i].ID))
		files += sizes[i]
	}
	removed := false
	for i := 0; err == nil && i < len(ended); i++ {
		remove := ended[i].Ended.IsZero() || j.options.Keep > 0 && time.Since(ended[i].Ended) > j.options.Keep
		if !remove && j.options.Size > 0 {
			var rows int64 // what is free in the file does not count
			err = r.db.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size
				FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&rows)
			remove = rows+files > j.options.Size
		}
		if err != nil || !remove {
			break
		}
		j.log.Info("removing a run from the journal", "run", ended[i].ID, "ended", ended[i].Ended)
		err = j.remove(ctx, ended[i].ID)
		files -= sizes[i]
		removed = true
	}
	if err != nil || !removed {
		return err
	}
	return j.shrink(ctx)
}

// endedRuns returns the runs but one whose servers are gone, those first that ended
// first. Of one that was killed the end is that of the last execution, or its beginning;
// of one whose removal has begun there is none.
func (r *Reader) endedRuns(ctx context.Context, but string) ([]Run, error) {
	runs, err := collect(ctx, r.db, func(rows *sql.Rows) (run Run, err error) {
		err = rows.Scan(&run.ID, (*stamp)(&run.Ended))
		run.Alive = r.alive(run.ID)
		return run, err
	}, `SELECT id, iif(ended > 0, ended, coalesce((SELECT started FROM executions INDEXED BY executions_of_run
			WHERE run = runs.id ORDER BY revision DESC LIMIT 1), started)) AS gone
		FROM runs WHERE id <> ? UNION SELECT DISTINCT run, 0 FROM executions WHERE run NOT IN (SELECT id FROM runs)
		ORDER BY gone, id`, but)
	return slices.DeleteFunc(runs, func(run Run) bool { return run.Alive }), err
}

// sizeOf returns how much the files below a directory hold, in bytes.
func sizeOf(directory string) (total int64, err error) {
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
		return err
	})
	return total, err
}

// remove removes a run: from what readers find first, so that none sees one of which calls
// are missing; then its files, so that the journal knows of them as long as there are any,
// then its calls, some at a time. Where that ends early, the next server goes on with it.
func (j *Journal) remove(ctx context.Context, run string) error {
	if !runID.MatchString(run) || run == j.run {
		return errors.New("refusing to remove the run " + run)
	}
	err := j.write(func(t *tx) {
		for _, table := range []string{"interpreters WHERE run", "experiments WHERE run", "pulses WHERE run", "runs WHERE id"} {
			t.exec("DELETE FROM "+table+" = ?", run)
		}
	})
	if err == nil {
		err = os.RemoveAll(filepath.Join(filesOf(j.path), run))
	}
	for left := true; left && err == nil; {
		err = j.write(func(t *tx) {
			for _, table := range []string{"details WHERE execution", "executions WHERE id"} {
				t.exec("DELETE FROM "+table+" IN (SELECT id FROM executions WHERE run = ? LIMIT ?)", run, batch)
			}
			left = t.get("SELECT 1 FROM executions WHERE run = ? LIMIT 1", []any{run}, new(int))
		})
		err = errors.Join(err, ctx.Err())
	}
	return err
}

// shrink gives free pages back to the disk, some at a time.
func (j *Journal) shrink(ctx context.Context) error {
	for before, free := -1, 0; free != before; {
		before = free
		err := j.write(func(t *tx) {
			t.get("PRAGMA freelist_count", nil, &free)
			if free > 0 && t.err == nil {
				_, t.err = j.conn.ExecContext(ctx, "PRAGMA incremental_vacuum(256)")
			}
		})
		if err != nil || free == 0 {
			return err
		}
	}
	return nil
}
