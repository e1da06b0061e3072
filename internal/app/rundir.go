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
	"sync"
	"time"

	"github.com/gofrs/flock"

	"understudy/sessions"
)

// runDir is the directory of one server's run: the sessions' output files and
// their own working directories. It is locked while the server lives, so that
// the next server can tell the leftovers of a killed one from a live one's.
type runDir struct {
	path     string
	walkable bool // by the users as whom sessions run

	mu   sync.Mutex // held while the directory is made anew
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
	path, lock, err := makeLocked(func() string { return filepath.Join(root, rand.Text()[:10]) })
	if err != nil {
		return nil, fmt.Errorf("making the directory for sessions' files: %w", err)
	}
	return &runDir{path: path, lock: lock}, nil
}

// letThrough is for servers with a sandbox.
func (d *runDir) letThrough() error {
	d.walkable = true
	runs := filepath.Dir(d.path)
	return letThrough(filepath.Dir(runs), runs, d.path)
}

// remake makes the directory anew, with its lock, that who tidies up has removed under
// the live server.
func (d *runDir) remake() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	lock, err := remakeLocked(d.path, d.lock)
	if d.lock = lock; err == nil && d.walkable {
		err = d.letThrough()
	}
	return err
}

// remakeLocked makes a locked directory anew and returns its lock, or the one that was
// held if that still is there.
func remakeLocked(dir string, held *flock.Flock) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return held, err
	}
	if _, err := os.Lstat(held.Path()); !errors.Is(err, fs.ErrNotExist) {
		return held, err
	}
	lock := flock.New(held.Path())
	if got, err := lock.TryLock(); err != nil || !got {
		return held, errors.Join(fmt.Errorf("%s was removed, and could not be locked again: another server is about to remove it; try again", dir), err, lock.Close())
	}
	_ = held.Close() // of a file that is no more
	return lock, nil
}

// makeLocked makes a directory of a new name with a lock in it that is held. Another
// server that looks for leftovers may take a lock that is not held yet for a dead
// server's, and remove it: then another name is tried.
func makeLocked(name func() string) (dir string, lock *flock.Flock, err error) {
	const tries = 10
	for range tries {
		dir = name()
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", nil, err
		}
		lock = flock.New(filepath.Join(dir, lockName))
		held, err := lock.TryLock()
		if err == nil && held {
			if _, err = os.Lstat(lock.Path()); err == nil {
				return dir, lock, nil
			}
		}
		// Nothing is in it but a lock. What another server is removing is gone already.
		if left := errors.Join(lock.Close(), os.RemoveAll(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), left)
		}
	}
	return "", nil, fmt.Errorf("other servers have removed %d new directories, the last of them %s; start again", tries, dir)
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
		lock := flock.New(filepath.Join(dir, lockName), flock.SetFlag(os.O_RDONLY)) // not made if there is none
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		log.Info("removing the files of a server that died", "dir", dir)
		if err := removeRunDir(context.Background(), dir, lock); err != nil {
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
	d.mu.Lock()
	defer d.mu.Unlock()
	return removeRunDir(ctx, d.path, d.lock)
}

// removeRunDir removes the directory of a run, in which sessions may have left
// anything, and lets go of its lock. The lock file goes last: without it nobody would
// come back to the rest.
func removeRunDir(ctx context.Context, dir string, lock *flock.Flock) error {
	err := emptyRunDir(ctx, dir)
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	return errors.Join(removeLock(lock), os.RemoveAll(dir))
}

// removeLock removes the file of a lock that is held, and lets go of it: in this order,
// or else who takes the lock in between has one that nobody finds.
func removeLock(lock *flock.Flock) error {
	removed := os.Remove(lock.Path())
	err := lock.Unlock()
	if removed != nil { // Windows removes no file that is open
		removed = os.Remove(lock.Path())
	}
	if errors.Is(removed, fs.ErrNotExist) {
		removed = nil
	}
	return errors.Join(err, removed)
}

// emptyRunDir removes all but the lock.
func emptyRunDir(ctx context.Context, dir string) error {
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
	return errors.Join(err, root.Close())
}
