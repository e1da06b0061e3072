package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
)

//go:embed ipykernel_driver.py
var ipykernelDriver string

// startIPykernel starts the Python process that drives ipykernel through
// jupyter_client; no kernel is started yet. Whatever Jupyter writes, history
// and connection files, goes to the run's own directory.
func startIPykernel(ctx context.Context, b *bench) (driver, error) {
	dir, err := os.MkdirTemp(b.dir, "jupyter-")
	if err != nil {
		return driver{}, err
	}
	script := filepath.Join(dir, "ipykernel_driver.py")
	if err := os.WriteFile(script, []byte(ipykernelDriver), 0o644); err != nil {
		return driver{}, err
	}
	c, err := startChild(ctx, dir, b.python, script, dir)
	return driver{c}, err
}
