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

	"understudy/internal/config"
	"understudy/internal/untrusted"
	"understudy/sessions/workdir"
)

// runDir is a directory of one server's run. It is locked while the server lives, so that
// the next one can tell the leftovers of a killed server from a live one's.
type runDir struct {
	dir      string
	walkable []string // what the users pass through as whom sessions run

	mu   sync.Mutex // held while the directory is made anew
	lock *flock.Flock
}

const (
	lockName = "lock"
	// runsName is the directory in the data directory for what goes with its server:
	// sessions' output files and their own working directories.
	runsName = "run"
)

// newRunDir makes a directory of a new name in a directory of the data directory.
func newRunDir(c *config.Config, in string, name func() string) (*runDir, error) {
	all := filepath.Join(c.DataDir, in)
	d, err := &runDir{}, os.MkdirAll(all, 0o700)
	if err == nil {
		d.dir, d.lock, err = makeLocked(func() string { return filepath.Join(all, name()) })
	}
	if err != nil {
		return nil, fmt.Errorf("making a directory for sessions' files (choose another with --data-dir): %w", err)
	}
	if c.Serve.SandboxMode() != config.SandboxOff {
		d.walkable = []string{c.DataDir, all, d.dir}
	}
	if err := letThrough(d.walkable...); err != nil {
		return nil, errors.Join(err, d.lock.Unlock(), os.RemoveAll(d.dir))
	}
	return d, nil
}

// newRunName is a name for what goes with its server.
func newRunName() string { return rand.Text()[:10] }

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
		left := errors.Join(lock.Close(), os.RemoveAll(dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), left)
		}
	}
	return "", nil, fmt.Errorf("other servers have removed %d new directories, the last of them %s; start again", tries, dir)
}

// remake makes the directory anew, with its lock, that who tidies up has removed under
// the live server.
func (d *runDir) remake() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(d.lock.Path()); err == nil {
		return letThrough(d.walkable...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lock := flock.New(d.lock.Path())
	if got, err := lock.TryLock(); err != nil || !got {
		return errors.Join(fmt.Errorf("%s was removed, and could not be locked again: another server is about to remove it; try again", d.dir), err, lock.Close())
	}
	_ = d.lock.Close() // of a file that is no more
	d.lock = lock
	return letThrough(d.walkable...)
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

// lockOfDead takes the lock of a run's directory whose server has died; nil for others. One
// without a lock file may be of a server that is just starting: its error is
// fs.ErrNotExist.
func lockOfDead(dir string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetFlag(os.O_RDONLY)) // not made if there is none
	if free, err := lock.TryLock(); err != nil || !free {
		return nil, err
	}
	return lock, nil
}

// removeLeftovers removes the directories of servers that died.
func removeLeftovers(runs string, log *slog.Logger) {
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("looking for leftovers", "error", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(runs, entry.Name())
		lock, err := lockOfDead(dir)
		if err != nil || lock == nil {
			continue
		}
		log.Info("removing the files of a server that died", "dir", dir)
		if err := removeRun(context.Background(), dir, lock); err != nil {
			log.Warn("removing leftovers", "dir", dir, "error", err)
		}
	}
}

// removeTime bounds how long a server that ends removes files. The next one removes the
// rest.
const removeTime = 10 * time.Second

// close removes the directory.
func (d *runDir) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	return removeRun(ctx, d.dir, d.lock)
}

// removeRun removes the directory of a run, in which sessions may have left anything, and
// lets go of its lock. The lock file goes last: without it nobody would come back to the
// rest.
func removeRun(ctx context.Context, dir string, lock *flock.Flock) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return removeLock(lock)
	}
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != lockName {
			err = errors.Join(err, untrusted.RemoveTree(ctx, root, entry.Name()))
		}
	}
	if err = errors.Join(err, root.Close()); err != nil {
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

// workdirsName is the directory's in the data directory in which working directories stay
// (--keep-workdirs). Servers with a sandbox share its lock while they live: who has it alone
// is no server's neighbour, and mends what killed ones have left.
const workdirsName = "workdirs"

// reclaimWorkdirs takes back what killed servers have left, and returns the lock, held, if
// this server is to keep directories there; else nil.
func reclaimWorkdirs(c *config.Config, log *slog.Logger) (*flock.Flock, error) {
	dir := filepath.Join(c.DataDir, workdirsName)
	keeps := c.Serve.KeepWorkdirs && c.Serve.SandboxMode() != config.SandboxOff
	if keeps {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making the directory for sessions' files (choose another with --data-dir): %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written by way of it
	lock := flock.New(filepath.Join(dir, lockName))
	alone, err := lock.TryLock()
	if err == nil && alone {
		reclaimOwnership(dir, root, log)
	}
	if err = errors.Join(err, lock.Unlock()); err == nil && keeps {
		err = lock.RLock() // another one that mends is bounded
	}
	if err != nil || !keeps {
		return nil, err
	}
	return lock, nil
}

func reclaimOwnership(dir string, root *os.Root, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	homes, err := workdir.ReclaimHomes(ctx, root)
	if err != nil {
		log.Warn("taking back working directories that a killed server has left; the next server tries again", "dir", dir, "error", err)
	}
	if len(homes) > 0 {
		log.Info("working directories that a killed server has left belong to this user now", "dir", dir, "homes", len(homes))
	}
}
