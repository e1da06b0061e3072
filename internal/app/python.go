package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"understudy/internal/config"
	"understudy/internal/egress"
	"understudy/internal/pythonenv"
	"understudy/internal/sandbox"
	"understudy/internal/worker"
	"understudy/sessions"
	"understudy/tools"
)

// startZygote is the value of --start that forks interpreters.
const startZygote = "zygote"

// pythonStarter finds Python when the first session needs it. Until one is
// found every start looks again, so that installing Python, or running setup,
// needs no restart of the server.
type pythonStarter struct {
	config *config.Config
	log    *slog.Logger
	// started is told of each fresh interpreter; nil: nobody is.
	started func(origin string, took time.Duration)
	// found is told once which Python it is; nil: nobody is.
	found func(version string)
	// proxy is the sessions' way out; nil: they have none, or need none.
	proxy *egress.Proxy

	homes   string          // where sessions will have their homes, "" if none is to be ready ahead
	life    context.Context // ends with Close
	endLife context.CancelFunc
	warming sync.WaitGroup

	looking chan struct{} // holds something while one looks for Python

	mu      sync.Mutex
	starter starter
	wall    *sandbox.Wall // nil without a sandbox; as valid as starter
}

// starter is what the two ways to start interpreters have in common.
type starter interface {
	sessions.Starter
	// Warm begins in the background what makes starts fast.
	Warm()
	// Helper starts a Python that does a job of the server's own.
	Helper(file string) (*worker.Helper, error)
	Close(ctx context.Context) error
}

func newPythonStarter(c *config.Config, log *slog.Logger) *pythonStarter {
	life, endLife := context.WithCancel(context.Background())
	return &pythonStarter{config: c, log: log, life: life, endLife: endLife, looking: make(chan struct{}, 1)}
}

// Name is the value of --start.
func (p *pythonStarter) Name() string { return p.config.Serve.Start }

// Start starts a worker with the Python that was found.
func (p *pythonStarter) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	starter, err := p.ready(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	w, err := starter.Start(ctx, spec)
	if err == nil && p.started != nil {
		p.started(w.Info().Origin, time.Since(began))
	}
	return w, err
}

// ForkObstacle says why interpreters can't be copied, "" if they can.
func (p *pythonStarter) ForkObstacle() string {
	if p.config.Serve.Start != startZygote {
		return worker.ObstacleSpawned
	}
	return worker.ForkObstacle(p.config.Serve.CheckpointMemory)
}

// warm looks for Python and begins to start what interpreters are forked from,
// in the background: where there is no Python the first call says so.
func (p *pythonStarter) warm() {
	p.warming.Go(func() {
		starter, err := p.ready(p.life)
		if err != nil {
			p.log.Debug("Python is not there yet", "error", err)
			return
		}
		starter.Warm()
	})
}

func (p *pythonStarter) ready(ctx context.Context) (starter, error) {
	select {
	case p.looking <- struct{}{}:
		defer func() { <-p.looking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if there := p.there(); there != nil {
		return there, nil
	}
	found, err := pythonenv.Find(ctx, pythonenv.Options{Python: p.config.Python, DataDir: p.config.DataDir})
	if err != nil {
		return nil, err
	}
	p.log.Info("found Python", "path", found.Path, "version", found.Version, "why", found.Why)
	wall, err := newWall(ctx, p.config, found.Path, p.log)
	if err != nil {
		return nil, err
	}
	wall.ExpectHomes(p.homes)
	made, err := newStarter(p.config, found.Path, wall, p.proxy, p.log)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.starter, p.wall = made, wall
	p.mu.Unlock()
	if p.found != nil {
		p.found(found.Version)
	}
	return made, nil
}

// there returns the starter, nil until Python was found. It waits for nobody who looks.
func (p *pythonStarter) there() starter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starter
}

// Helper starts a Python that does a job of the server's own, with the Python that
// was found.
func (p *pythonStarter) Helper(ctx context.Context, file string) (*worker.Helper, error) {
	starter, err := p.ready(ctx)
	if err != nil {
		return nil, err
	}
	return starter.Helper(file)
}

// Close lets go of the starter, whose workers have been ended.
func (p *pythonStarter) Close() error {
	p.endLife()
	p.warming.Wait()
	defer p.proxy.Close()
	p.looking <- struct{}{} // whoever looks may be about to make a starter
	defer func() { <-p.looking }()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starter == nil {
		return nil
	}
	return p.starter.Close(context.Background())
}

// newStarter returns what starts workers by the settings of c, behind the wall, with
// the proxy as their way out; nil is for none.
func newStarter(c *config.Config, python string, wall *sandbox.Wall, proxy *egress.Proxy, log *slog.Logger) (starter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding our own program for the watchdog: %w", err)
	}
	options := worker.Options{
		Python: python, LibraryDir: libraryDir(c), Wall: wall, Limits: limitsOf(c), Serve: serving(proxy), Watchdog: []string{self, "watchdog"},
		Echo: c.Serve.Echo, Traceback: c.Serve.Traceback, Warnings: c.Serve.Warnings,
		CodeFile: c.Serve.CodeFile, InitCode: c.Serve.InitCode, FigureMaxSide: tools.LargestSide(c.Serve.ImageMaxSide),
		Preload: c.Serve.Preload, CheckpointShare: c.Serve.CheckpointMemory, Spares: worker.UsualSpares,
		Logger: log,
	}
	if c.Serve.Start == startZygote {
		return worker.NewZygote(options), nil
	}
	return worker.NewSpawner(options), nil
}

// libraryDir is where the workers' own Python files are.
func libraryDir(c *config.Config) string { return filepath.Join(c.DataDir, "lib") }
