package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

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
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return nil, nil, errors.Join(fmt.Errorf("locking %s: %w", file, err), lock.Close())
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return lock, info, nil
}

// isHeld reports whether the server lives that holds a lock, and whether that is
// known: one that is not there was given back, or moved away with the journal.
func isHeld(file string) (held, known bool) {
	if _, err := os.Stat(file); err != nil {
		return false, false
	}
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if free {
		_ = lock.Unlock() // it was only tried
	}
	return err == nil && !free, err == nil
}
