package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/internal/worker"
	"understudy/sessions"
)

// pythonStarter finds Python when the first session needs it. Until one is
// found every start looks again, so that installing Python, or running setup,
// needs no restart of the server.
type pythonStarter struct {
	config *config.Config
	log    *slog.Logger

	mu      sync.Mutex
	spawner *worker.Spawner
}

func newPythonStarter(c *config.Config, log *slog.Logger) *pythonStarter {
	return &pythonStarter{config: c, log: log}
}

// Name is the value of --start.
func (p *pythonStarter) Name() string { return p.config.Serve.Start }

// Start starts a worker with the Python that was found.
func (p *pythonStarter) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	spawner, err := p.ready(ctx)
	if err != nil {
		return nil, err
	}
	return spawner.Start(ctx, spec)
}

func (p *pythonStarter) ready(ctx context.Context) (*worker.Spawner, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spawner != nil {
		return p.spawner, nil
	}
	found, err := pythonenv.Find(ctx, pythonenv.Options{Python: p.config.Python, DataDir: p.config.DataDir})
	if err != nil {
		return nil, err
	}
	p.log.Info("found Python", "path", found.Path, "version", found.Version, "why", found.Why)
	p.spawner, err = newSpawner(p.config, found.Path, p.log)
	return p.spawner, err
}

// Close lets go of the spawner, whose workers have been ended.
func (p *pythonStarter) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spawner == nil {
		return nil
	}
	return p.spawner.Close(context.Background())
}

// newSpawner returns what starts workers by the settings of c.
func newSpawner(c *config.Config, python string, log *slog.Logger) (*worker.Spawner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding our own program for the watchdog: %w", err)
	}
	return worker.NewSpawner(worker.Options{
		Python: python, LibraryDir: filepath.Join(c.DataDir, "lib"), Watchdog: []string{self, "watchdog"},
		Echo: c.Serve.Echo, Traceback: c.Serve.Traceback, Warnings: c.Serve.Warnings,
		CodeFile: c.Serve.CodeFile, InitCode: c.Serve.InitCode, FigureMaxSide: c.Serve.ImageMaxSide,
		Logger: log,
	}), nil
}
