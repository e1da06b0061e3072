package pythonenv

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a waiting setup looks whether its turn has come.
const lockPoll = 200 * time.Millisecond

// lockSetup waits until no other setup works on the environment. The system
// lets the lock go when its holder dies. The file stays: to remove it would
// let a third process lock a new one while a second holds the old.
func lockSetup(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		fmt.Fprintln(progress, "Another setup is under way; waiting for it to end")
		_, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the Python environment (%s): %w", path, err)
	}
	return func() { _ = lock.Unlock() }, nil
}
