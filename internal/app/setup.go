package app

import (
	"context"
	"fmt"
	"io"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/pyworker"
)

// Setup is the command setup. Its progress goes to progress; out gets the path
// of the environment's Python alone, for scripts.
func Setup(ctx context.Context, c *config.Config, out, progress io.Writer) error {
	lock, err := requirements()
	if err != nil {
		return err
	}
	prepared, err := pythonenv.Prepare(ctx, pythonenv.PrepareOptions{
		DataDir: c.DataDir, Python: c.Python, Lock: lock, Progress: progress,
	})
	if err != nil {
		return err
	}
	state := "is ready"
	if !prepared.Changed {
		state = "was ready already"
	}
	fmt.Fprintf(progress, "The Python environment %s (Python %s)\n", state, prepared.Version)
	warnOfAnother(ctx, c, prepared, progress)
	_, err = fmt.Fprintln(out, prepared.Path)
	return err
}

// warnOfAnother tells the user when the server would take another Python than
// the prepared one.
func warnOfAnother(ctx context.Context, c *config.Config, prepared *pythonenv.Prepared, progress io.Writer) {
	found, err := pythonenv.Find(ctx, pythonenv.Options{DataDir: c.DataDir})
	if err == nil && !found.FromSetup() {
		fmt.Fprintf(progress, "Note: in this shell the server runs %s (%s); deactivate it, or say --python %s\n",
			found.Path, found.Why, prepared.Path)
	}
}

// requirements is the lock file that this program carries.
func requirements() ([]byte, error) {
	lock, err := pyworker.Files.ReadFile("requirements.lock")
	if err != nil {
		return nil, fmt.Errorf("reading the list of libraries: %w", err)
	}
	return lock, nil
}
