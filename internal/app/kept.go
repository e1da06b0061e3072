package app

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"understudy/internal/config"
	"understudy/internal/untrusted"
	"understudy/sessions/workdir"
)

// keptFiles is where what a server on stdio has named in its answers stays when it ends:
// figures, artifacts and whole outputs. Each run of a server has a directory of its own.
// They go as the journal's runs do, when they are too old or too large together.
type keptFiles struct {
	*runDir
	sweeping *background
}

const (
	// keptName is the directory's in the data directory.
	keptName = "files"
	// outputsName is where whole outputs are, in the directory of a run.
	outputsName = "outputs"
)

// openKept makes the directory for this run, and removes what is too old in the
// background. Over a network, where files go with their interpreters, it returns nil.
func openKept(c *config.Config, log *slog.Logger) (*keptFiles, error) {
	if c.Serve.OverNetwork() {
		return nil, nil
	}
	dir, err := newRunDir(c, keptName, func() string {
		return time.Now().Format(time.DateOnly) + "-" + rand.Text()[:6]
	})
	if err != nil {
		return nil, err
	}
	k := &keptFiles{dir, newBackground()}
	k.sweeping.Go(func(life context.Context) {
		all := filepath.Dir(dir.dir)
		s := keptSweep{keep: c.Serve.JournalKeep, size: c.Serve.JournalSize, log: log}
		if err := s.sweep(life, all); err != nil && life.Err() == nil {
			log.Warn("removing old figures and outputs", "dir", all, "error", err)
		}
	})
	return k, nil
}

// close leaves what there is, and no directory that nothing is in.
func (k *keptFiles) close() error {
	k.sweeping.stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	err := removeLock(k.lock)
	_ = os.Remove(filepath.Join(k.dir, outputsName)) // it stays while something is in it
	_ = os.Remove(k.dir)                             // likewise
	return err
}

// keptSweep removes the files of servers that have ended.
type keptSweep struct {
	keep time.Duration // from their end on; 0 is for ever
	size int64         // bytes of all together; 0 is no limit
	log  *slog.Logger
}

// sweep tidies up after servers that were killed, and removes the runs that are too old,
// or too large with all that are newer. Those of live servers count, and stay, as do
// those of servers that it finds dead.
func (s keptSweep) sweep(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written by way of it
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	runs := make([]fs.FileInfo, 0, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.IsDir() {
			runs = append(runs, info)
		}
	}
	slices.SortFunc(runs, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var failed error
	var size int64
	for _, run := range runs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ended, err := s.tidy(ctx, root, run.Name())
		size += sizeOf(filepath.Join(dir, run.Name()))
		failed = errors.Join(failed, err)
		if !ended || !s.isPast(run.ModTime()) && (s.size == 0 || size <= s.size) {
			continue
		}
		s.log.Info("removing the figures and outputs of an old run", "dir", filepath.Join(dir, run.Name()))
		failed = errors.Join(failed, untrusted.RemoveTree(ctx, root, run.Name()))
	}
	return failed
}

func (s keptSweep) isPast(ended time.Time) bool { return s.keep > 0 && time.Since(ended) > s.keep }

// tidy reports whether the server of a run has ended in good order, or was found to be
// dead by an earlier sweep. What one has left that was killed, and that is nobody's any
// more, it removes; the rest stays this time, as if that server had ended now: nothing
// tells how long it lived.
func (s keptSweep) tidy(ctx context.Context, root *os.Root, run string) (ended bool, err error) {
	lock, err := lockOfDead(filepath.Join(root.Name(), run))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || lock == nil {
		return false, err
	}
	its, err := root.OpenRoot(run)
	if err == nil {
		err = errors.Join(workdir.Tidy(ctx, its), its.Close())
	}
	return false, errors.Join(err, removeLock(lock))
}

// sizeOf is how many bytes the files below a directory have.
func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
