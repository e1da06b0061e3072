package command

import (
	"context"
	"fmt"
	"io"
	"time"

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
	options := pythonenv.PrepareOptions{DataDir: c.DataDir, Python: c.Python, Lock: lock, Progress: progress}
	if c.Setup.Minimal {
		options.Only = pythonenv.Minimal()
	}
	began := time.Now()
	prepared, err := pythonenv.Prepare(ctx, options)
	if err != nil {
		return err
	}
	if prepared.Changed {
		fmt.Fprintf(progress, "The Python environment is ready: Python %s, in %v\n",
			prepared.Version, time.Since(began).Round(time.Second))
	} else {
		fmt.Fprintf(progress, "The Python environment was ready already (Python %s)\n", prepared.Version)
	}
	if c.Setup.Minimal && prepared.Whole {
		fmt.Fprintf(progress, "It has more than --minimal asks for, and keeps it; to be rid of that, remove %s and run setup --minimal again\n",
			prepared.Directory)
	}
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
