package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"understudy/sessions"
)

// runDir is the directory of one server's run: the sessions' output files and
// their own working directories. It is locked while the server lives, so that
// the next server can tell the leftovers of a killed one from a live one's.
type runDir struct {
	path string
	lock *flock.Flock
}

const lockName = "lock"

// newRunDir makes a directory for this run below dataDir and removes those of
// servers that died.
func newRunDir(dataDir string, log *slog.Logger) (*runDir, error) {
	root := filepath.Join(dataDir, "run")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for sessions' files (choose another with --data-dir): %w", err)
	}
	removeLeftovers(root, log)
	d := &runDir{path: filepath.Join(root, rand.Text()[:10])}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for sessions' files: %w", err)
	}
	d.lock = flock.New(filepath.Join(d.path, lockName))
	if ok, err := d.lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", d.path, err), os.RemoveAll(d.path))
	}
	return d, nil
}

// letThrough lets users other than root, as whom sessions run, pass through directories
// to their own ones. They can list nothing on the way, and what lies there is closed to
// them.
func letThrough(dirs ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil {
			err = os.Chmod(dir, info.Mode().Perm()|0o001)
		}
		if err != nil {
			return fmt.Errorf("letting interpreters pass to their directories: %w", err)
		}
	}
	return nil
}

// removeLeftovers removes the directories whose lock nobody holds. One without
// a lock file may be of a server that is just starting: it is left alone until
// the next time.
func removeLeftovers(root string, log *slog.Logger) {
	entries, err := os.ReadDir(root)
	if err != nil {
		log.Warn("looking for leftovers", "error", err)
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil {
			continue
		}
		lock := flock.New(filepath.Join(dir, lockName))
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		log.Info("removing the files of a server that died", "dir", dir)
		_ = lock.Unlock()
		if err := removeRunDir(context.Background(), dir); err != nil {
			log.Warn("removing leftovers", "dir", dir, "error", err)
		}
	}
}

// removeTime bounds how long a server that ends removes files. The next one removes the
// rest.
const removeTime = 10 * time.Second

// close removes the directory, if there is one.
func (d *runDir) close() error {
	if d == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	return errors.Join(d.lock.Unlock(), removeRunDir(ctx, d.path))
}

// removeRunDir removes the directory of a run, in which sessions may have left
// anything. The lock file goes last: without it nobody would come back to the rest.
func removeRunDir(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != lockName {
			err = errors.Join(err, sessions.RemoveTree(ctx, root, entry.Name()))
		}
	}
	if err = errors.Join(err, root.Close()); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
