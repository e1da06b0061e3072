package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"understudy/internal/config"
	"understudy/internal/egress"
	"understudy/internal/pythonenv"
	"understudy/internal/sandbox"
	"understudy/internal/worker"
	"understudy/sessions"
	"understudy/tools"
	"understudy/tools/answer"
)

// pythons are the Pythons of a server: the usual one, and those that an interpreter may be
// made with by name. Each is looked for when the first session needs it, and has what its
// interpreters are forked from to itself. Until one is found every start looks again, so
// that installing Python, or running setup, needs no restart of the server.
type pythons struct {
	config *config.Config
	log    *slog.Logger
	// rules are what code is checked by, as far as all clients have them; nil for none.
	rules *tools.Rules
	// started is told of each fresh interpreter; nil: nobody is.
	started func(origin string, took time.Duration)
	// found is told once which Python is the usual one; nil: nobody is.
	found func(version string)
	// proxy is the sessions' way out; nil: they have none, or need none.
	proxy *egress.Proxy
	// carried is what sessions have of secrets.
	carried carried

	// workspace is what starts wait for; nil: for nothing.
	workspace *workspaceService

	homes   string // where sessions will have their homes, "" if none is to be ready ahead
	warming *background

	wall atomic.Pointer[sandbox.Wall] // of the usual one, once it was found; nil without a sandbox

	turn    chan struct{}      // holds something while one looks at what follows, or for a Python
	known   map[string]*python // by the names that they were asked for with, "" the usual one
	opened  []*python          // all that were
	project string             // where environments of a project are looked for; "" for nowhere
}

// python is one that was found.
type python struct {
	*pythonenv.Found
	starter Starter
	wall    *sandbox.Wall // nil without a sandbox
}

// Starter is what the two ways to start interpreters have in common.
type Starter interface {
	sessions.Starter
	// Warm begins in the background what makes starts fast.
	Warm()
	// Settle waits until starts are fast, or won't be, or ctx ends.
	Settle(ctx context.Context)
	// Helper starts a Python that does a job of the server's own.
	Helper(file string) (*worker.Helper, error)
	Close(ctx context.Context) error
}

// newPythons are those of a server, whose sessions have their homes in a directory.
func (a *App) newPythons(homes string) *pythons {
	c := a.plugins.preloading(a.config)
	if a.workspace != nil {
		its := *c
		its.Serve.Workdir = a.workspace.plan.Dir()
		c = &its
	}
	p := newPythons(c, a.log)
	p.homes, p.rules, p.workspace = homes, a.rules, a.workspace
	if a.journal != nil {
		p.found = a.journal.found
	}
	return p
}

func newPythons(c *config.Config, log *slog.Logger) *pythons {
	project, _ := WorkingDirectory(c)
	return &pythons{
		config: c, log: log, warming: newBackground(), project: project,
		turn: make(chan struct{}, 1), known: map[string]*python{},
	}
}

// Waiting says in a clause what starts wait for now, "" when for nothing.
func (p *pythons) Waiting() string {
	if p.workspace == nil {
		return ""
	}
	return p.workspace.waiting()
}

// Start starts a worker with the Python that the spec names.
func (p *pythons) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	if p.workspace != nil {
		if err := p.workspace.use(ctx); err != nil {
			return nil, err
		}
	}
	python, err := p.ready(ctx, spec.Python)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	w, err := python.starter.Start(ctx, spec)
	if err == nil && p.started != nil {
		p.started(w.Info().Origin, time.Since(began))
	}
	return w, err
}

// ForkObstacle says why interpreters can't be copied, "" if they can.
func (p *pythons) ForkObstacle() string {
	if p.config.Serve.Start != config.StartZygote {
		return worker.ObstacleSpawned
	}
	return worker.ForkObstacle(p.config.Serve.CheckpointMemory)
}

// warm looks for the usual Python and begins to start what interpreters are forked from,
// in the background: where there is no Python the first call says so.
func (p *pythons) warm() {
	p.warming.Go(func(life context.Context) {
		python, err := p.ready(life, "")
		if err != nil {
			p.log.Debug("Python is not there yet", "error", err)
			return
		}
		python.starter.Warm()
	})
}

// choose says whether an interpreter can be made with the Python of a name, as a
// *sessions.Error that lists those there are.
func (p *pythons) choose(ctx context.Context, name string) error {
	_, err := p.ready(ctx, name)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return sessions.Errorf(sessions.CodeInvalid, "python: %w", err)
}

// ready returns the Python of a name, which it looks for unless that was done before.
func (p *pythons) ready(ctx context.Context, name string) (*python, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return p.look(ctx, name)
}

// noPythonError says that there is none: not the one that was named, or none at all.
type noPythonError struct{ error }

func (e noPythonError) Unwrap() error { return e.error }

// look is ready for a caller whose turn it is.
func (p *pythons) look(ctx context.Context, name string) (*python, error) {
	if its := p.known[name]; its != nil {
		return its, nil
	}
	if name != "" { // which may be the same
		_, _ = p.look(ctx, "") // who wants that one is told what is wrong with it
	}
	found, err := FindNamed(ctx, p.config, name, p.project)
	if err != nil && ctx.Err() == nil {
		err = noPythonError{err}
	}
	if err != nil {
		return nil, err
	}
	its, err := p.of(ctx, name, found)
	if err != nil {
		return nil, err
	}
	p.known[name] = its
	if name == "" && p.found != nil {
		p.found(found.Version)
	}
	return its, nil
}

// of returns one that was found, which may be known by another name.
func (p *pythons) of(ctx context.Context, name string, found *pythonenv.Found) (*python, error) {
	for _, its := range p.opened {
		if its.Path == found.Path {
			return its, nil
		}
	}
	p.log.Info("found Python", "path", found.Path, "version", found.Version, "why", found.Why)
	for _, passed := range found.Passed {
		p.log.Info("passed a Python over", "path", passed.Path, "why", passed.Why, "because", passed.Reason)
	}
	its, err := p.open(ctx, name, found)
	if err == nil {
		p.opened = append(p.opened, its)
	}
	return its, err
}

// open makes what starts interpreters with a Python, behind a wall if there is to be one.
// The walls of all Pythons are one, but for what each of them reads.
func (p *pythons) open(ctx context.Context, name string, found *pythonenv.Found) (*python, error) {
	made := &python{Found: found}
	var err error
	switch {
	case name == "":
		made.wall, err = NewWall(ctx, p.config, found.Path, p.log)
		made.wall.ExpectHomes(p.homes)
		if p.carried.file != "" {
			made.wall.Carry(p.carried.environment, p.carried.file)
		}
		p.wall.Store(made.wall)
	case p.Confines():
		made.wall, err = p.anotherWall(ctx, found.Path)
	}
	if err != nil {
		return nil, err
	}
	options := workerOptions(p.config, found, made.wall, p.log)
	if p.proxy != nil {
		options.Serve = p.proxy.Serve
	}
	options.Environment = p.environment(name, found)
	made.starter = startWith(p.config, options)
	return made, nil
}

// anotherWall is that of the usual Python, for one at another path.
func (p *pythons) anotherWall(ctx context.Context, path string) (*sandbox.Wall, error) {
	usual, err := p.look(ctx, "")
	if err != nil {
		return nil, err
	}
	directories, err := pythonDirectories(ctx, p.config, path, p.log)
	if err != nil {
		return nil, err
	}
	return usual.wall.ForPython(directories)
}

// workIn says that interpreters which are made from now on work in another directory than
// the settings have it: its project may have another Python.
func (p *pythons) workIn(dir string) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.project = dir
	delete(p.known, "")
	delete(p.known, config.PythonProject)
}

// Helper starts a Python that does a job of the server's own, with the usual one.
func (p *pythons) Helper(ctx context.Context, file string) (*worker.Helper, error) {
	python, err := p.ready(ctx, "")
	if err != nil {
		return nil, err
	}
	return python.starter.Helper(file)
}

// Close lets go of all starters, whose workers have been ended.
func (p *pythons) Close() error {
	p.warming.stop()
	defer p.proxy.Close()
	p.turn <- struct{}{} // whoever looks may be about to make a starter
	defer func() { <-p.turn }()
	var errs []error
	for _, python := range p.opened {
		errs = append(errs, python.starter.Close(context.Background()))
	}
	return errors.Join(errs...)
}

// NewStarter returns what starts workers by the settings of c, behind the wall, for
// trials; nil is for none.
func NewStarter(c *config.Config, found *pythonenv.Found, wall *sandbox.Wall) Starter {
	return startWith(c, workerOptions(c, found, wall, slog.New(slog.DiscardHandler)))
}

func startWith(c *config.Config, options worker.Options) Starter {
	if c.Serve.Start == config.StartZygote {
		return worker.NewZygote(options)
	}
	return worker.NewSpawner(options)
}

func workerOptions(c *config.Config, found *pythonenv.Found, wall *sandbox.Wall, log *slog.Logger) worker.Options {
	return worker.Options{
		Python: found.Path, Env: activation(found.Path), LibraryDir: libraryDir(c), Wall: wall, Limits: limitsOf(c), Guard: true,
		Echo: c.Serve.Echo, Traceback: c.Serve.Traceback, Warnings: c.Serve.Warnings,
		CodeFile: c.Serve.CodeFile, InitCode: c.Serve.InitCode, FigureMaxSide: answer.LargestSide(c.Serve.ImageMaxSide),
		Tools:   c.Serve.MCP.MCP != "",
		Preload: c.Serve.Preload, CheckpointShare: c.Serve.CheckpointMemory, Spares: worker.UsualSpares,
		Logger: log,
	}
}

// libraryDir is where the workers' own Python files are.
func libraryDir(c *config.Config) string { return filepath.Join(c.DataDir, "lib") }
