package journal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// runID is the form of a run's id. Only directories with such a name are removed.
var runID = regexp.MustCompile(`^[A-Z0-9]{10}$`)

// filesOf returns the directory beside a journal that has the files of its runs,
// each run's in a directory of the run's id.
func filesOf(path string) string { return path + ".files" }

// lockOf returns the file that a run's server holds a lock on while it lives.
func lockOf(path, run string) string { return filepath.Join(filesOf(path), run, "lock") }

// source names a file to the SQLite driver, with parameters as "mode=ro".
func source(path string, parameters ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // as C:/Users/…
		slashed = "/" + slashed
	}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + strings.Join(parameters, "&")
}

// lockPatience is how long a server waits for its own new lock: a reader may be
// trying it at that moment.
const lockPatience = time.Second

// hold makes the directory of a run and locks it as long as its server lives.
func hold(path, run string) (*flock.Flock, os.FileInfo, error) {
	file := lockOf(path, run)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the directory for the journal's files: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	lock := flock.New(file, flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("locking %s: %w", file, err), lock.Close())
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return lock, info, nil
}

// alive reports whether a run's server is there. Only a lock that is there and free
// says for good that it is not: the journal's files may have been moved away, and may
// come back. Until then a process with the id of a server that has not ended is it.
func (r *Reader) alive(run string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead[run] {
		return false
	}
	file := lockOf(r.path, run)
	if _, err := os.Stat(file); err == nil {
		lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
		free, err := lock.TryRLock()
		if free {
			_ = lock.Unlock() // it was only tried
		}
		if err == nil {
			r.dead[run] = free
			return !free
		}
	}
	var pid int
	err := r.db.QueryRowContext(context.Background(), "SELECT pid FROM runs WHERE id = ? AND ended = 0 AND pid > 0", run).Scan(&pid)
	if err != nil {
		return false
	}
	process, err := os.FindProcess(pid)
	return err == nil && !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
