package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"understudy/internal/config"
	"understudy/sessions"
)

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
	homes, err := sessions.TakeBackHomes(ctx, root)
	if err != nil {
		log.Warn("taking back working directories that a killed server has left; the next server tries again", "dir", dir, "error", err)
	}
	if len(homes) > 0 {
		log.Info("working directories that a killed server has left belong to this user now", "dir", dir, "homes", len(homes))
	}
}
