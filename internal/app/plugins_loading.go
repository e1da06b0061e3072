package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"understudy/internal/plugins"
	"understudy/sessions"
)

const (
	// pluginTime bounds the loading of one plugin, with the start of its interpreter.
	pluginTime = time.Minute
	// listPatience is how long lists of tools wait for plugins that are being loaded, counted
	// from when that began: not every client asks again when it is told that the list has
	// changed, and some give up after a few seconds.
	listPatience = 2 * time.Second
)

// loading loads each plugin once for each of its versions, where no code of users runs: one
// that can't be loaded is broken for everybody who asks. Code that calls it loads it for
// itself all the same: what was missing may be there by then.
type loading struct {
	registry *plugins.Registry
	// load returns why a plugin can't be loaded, "" if it can; an error says that it
	// could not be tried.
	load func(context.Context, plugins.Set, plugins.Plugin) (problem string, err error)

	ctx  context.Context // ends with the server
	stop context.CancelFunc

	mu    sync.Mutex
	last  chan struct{} // closed once all that had been found has been loaded
	began time.Time
}

func newLoading(registry *plugins.Registry, load func(context.Context, plugins.Set, plugins.Plugin) (string, error)) *loading {
	l := &loading{registry: registry, load: load, last: make(chan struct{})}
	close(l.last)
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// begin loads what is new, in the background, one after the other.
func (l *loading) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, done := l.last, make(chan struct{})
	select {
	case <-before:
		l.began = time.Now()
	default: // a pass goes on, and this one is as good as it
	}
	l.last = done
	go func() {
		defer close(done)
		<-before
		l.pass()
	}()
}

func (l *loading) pass() {
	set := l.registry.Known()
	for _, p := range set.Ready() {
		if l.ctx.Err() != nil {
			return
		}
		if l.registry.Tried(p) {
			continue
		}
		problem, err := l.load(l.ctx, set, p)
		if err == nil {
			l.registry.Judge(p, problem)
		}
	}
}

// await returns when what has been found so far is loaded, or patience is at its end.
func (l *loading) await(ctx context.Context) {
	l.mu.Lock()
	last, until := l.last, l.began.Add(listPatience)
	l.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case <-last:
	case <-ctx.Done():
	}
}

func (l *loading) close() {
	if l == nil {
		return
	}
	l.stop()
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	<-last
}

// loadPlugin loads a plugin in an interpreter of its own, behind the wall of the sessions.
func (a *App) loadPlugin(ctx context.Context, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	usual, err := a.python.ready(ctx, "")
	if err != nil {
		return "", err
	}
	home, err := a.trialHome("plugin")(usual.wall != nil)
	if err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	// The name is none that an interpreter can have.
	err = onTrial(within, usual.starter, usual.wall, ".plugin", home, a.config.Serve.Workdir, func(worker sessions.Worker) error {
		problem, err = load(within, worker, set, p)
		return err
	})
	if problem != "" { // whatever its interpreter says at its end
		return problem, nil
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn("a plugin could not be tried", "plugin", p.Name, "error", err)
	}
	return "", err
}

// load has a fresh worker load a plugin and returns why it can't be.
func load(ctx context.Context, worker sessions.Worker, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	// One that hangs answers no context, but its worker can be killed.
	defer context.AfterFunc(ctx, func() { worker.Kill() })()
	if err := worker.Equip(ctx, sessions.Equipment{Plugins: equipment(set)}); err != nil {
		return "", err
	}
	code := fmt.Sprintf("import understudy_plugin\nunderstudy_plugin.check(%q)", p.Name)
	outcome, err := worker.Run(ctx, sessions.Request{Execution: 1, Kind: sessions.RunsCode, Code: code}, &trial{})
	file := filepath.Base(p.File) + ": "
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return file + "it is not loaded after " + sessions.InWords(pluginTime), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return file + "its interpreter ended as it was loaded: " + err.Error(), nil
	case outcome.Exception == nil:
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(outcome.Exception.Traceback), "\n")
	_, said, _ := strings.Cut(lines[len(lines)-1], ": ") // without the exception's class
	return file + strings.TrimPrefix(said, "plugin "+p.Name+" can't be loaded: "), nil
}
