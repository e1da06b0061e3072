package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
	"understudy/internal/phrase"
	"understudy/internal/plugins"
	"understudy/sessions"
	"understudy/tools"
)

// listPatience is how long lists of tools wait for plugins that are being loaded, counted
// from when that began: not every client asks again when it is told that the list has
// changed, and some give up after a few seconds.
const listPatience = 2 * time.Second

// pluginSet gives sessions and tools the plugins that are there now. It loads each once for
// each of its versions, where no code of users runs: one that can't be loaded is broken for
// everybody who asks. Code that calls it loads it for itself all the same: what was missing
// may be there by then.
type pluginSet struct {
	registry *plugins.Registry
	// load returns why a plugin can't be loaded, "" if it can; an error says that it
	// could not be tried.
	load func(context.Context, plugins.Set, plugins.Plugin) (problem string, err error)

	passes *background

	mu      sync.Mutex
	refresh func()        // of the tools; nil until they are there
	loaded  chan struct{} // closed once all that had been found has been loaded
	began   time.Time     // when loading did
}

var _ sessions.Equipper = (*pluginSet)(nil)

// openPlugins reads the directory of --plugins; nil where there are none, and never will be.
func openPlugins(c *config.Config, log *slog.Logger) (*pluginSet, error) {
	if err := sessions.CheckSessionVariables(c.Serve.SessionVariables); err != nil {
		return nil, fmt.Errorf("session-variables: %w", err)
	}
	if c.Serve.Plugins == "" {
		return nil, nil
	}
	if c.Serve.Mode == config.ModeCLIOnly {
		log.Warn("plugins are not used: with --mode cli-only there is nothing that could call them", "dir", c.Serve.Plugins)
		return nil, nil
	}
	s := &pluginSet{passes: newBackground(), loaded: make(chan struct{})}
	close(s.loaded)
	var err error
	s.registry, err = plugins.Open(c.Serve.Plugins, plugins.Options{Logger: log, Changed: s.changed})
	return s, err
}

// Plugins returns what code is to find, and why it can't use the rest.
func (s *pluginSet) Plugins() ([]sessions.Plugin, int) {
	set := s.registry.Set()
	return Equipment(set).Plugins, set.Revision
}

// Equipment is what sessions are told of a set. Of the broken ones they hear where
// the name may stand for them in Python.
func Equipment(set plugins.Set) sessions.Equipment {
	given := []sessions.Plugin{}
	for _, p := range set.Plugins {
		if p.State == plugins.Disabled || !p.Callable {
			continue
		}
		reason := p.Reason()
		if p.Source != "" { // a load that failed may succeed in a session
			reason = ""
		}
		given = append(given, sessions.Plugin{
			Name: p.Name, File: p.File, Source: p.Source, Configuration: p.Configuration,
			Signature: p.Signature, Doc: p.Doc, Helpers: p.Helpers, Broken: reason,
		})
	}
	return sessions.Equipment{Plugins: given}
}

// preloading returns the settings with what the plugins of this moment wish to be
// imported before interpreters are forked.
func (s *pluginSet) preloading(c *config.Config) *config.Config {
	if s == nil {
		return c
	}
	changed := *c
	changed.Serve.Preload = slices.Clone(c.Serve.Preload)
	for _, name := range s.registry.Known().Preload() {
		if !slices.Contains(changed.Serve.Preload, name) {
			changed.Serve.Preload = append(changed.Serve.Preload, name)
		}
	}
	return &changed
}

// summary is what a model reads of plugins.
func (s *pluginSet) summary() string { return plugins.Summary(s.registry.Known()) }

// tools are the plugins as tools, for where there is no code.
func (s *pluginSet) tools() []tools.PluginTool {
	var all []tools.PluginTool
	for _, p := range s.registry.Known().Plugins {
		if p.State == plugins.Disabled || !p.Callable {
			continue
		}
		a := p.Annotations
		all = append(all, tools.PluginTool{
			Name: p.Name, Title: a.Title, Description: p.ToolDescription, Schema: p.Schema, Broken: p.Reason(),
			ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld,
		})
	}
	return all
}

// attach has the tools follow the plugins: a list of tools, and a call of whatever
// tool, is answered from those that are there when it comes.
func (s *pluginSet) attach(to *server.MCPServer, refresh func()) {
	s.mu.Lock()
	s.refresh = refresh
	s.mu.Unlock()
	if to.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(to)
	}
	to.GetHooks().AddBeforeListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest) {
		s.registry.Set()
		s.await(ctx)
	})
	to.GetHooks().AddBeforeCallTool(func(context.Context, any, *mcp.CallToolRequest) { s.registry.Set() })
}

// changed is called when the registry has read a change.
func (s *pluginSet) changed() {
	s.mu.Lock()
	refresh := s.refresh
	s.mu.Unlock()
	if refresh != nil {
		refresh()
		s.begin()
	}
}

// begin loads what is new, in the background, one after the other.
func (s *pluginSet) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, done := s.loaded, make(chan struct{})
	select {
	case <-before:
		s.began = time.Now()
	default: // a pass goes on, and this one is as good as it
	}
	if s.passes.Go(func(life context.Context) {
		defer close(done)
		<-before
		s.pass(life)
	}) {
		s.loaded = done
	}
}

func (s *pluginSet) pass(life context.Context) {
	set := s.registry.Known()
	for _, p := range set.Ready() {
		if life.Err() != nil {
			return
		}
		if s.registry.Tried(p) {
			continue
		}
		if problem, err := s.load(life, set, p); err == nil {
			s.registry.Judge(p, problem)
		}
	}
}

// await returns when what has been found so far is loaded, or patience is at its end.
func (s *pluginSet) await(ctx context.Context) {
	s.mu.Lock()
	loaded, until := s.loaded, s.began.Add(listPatience)
	s.mu.Unlock()
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case <-loaded:
	case <-ctx.Done():
	}
}

// pluginTime bounds the loading of one plugin, with the start of its interpreter.
const pluginTime = time.Minute

// loadPlugin loads a plugin in an interpreter of its own, behind the wall of the sessions.
func (a *App) loadPlugin(ctx context.Context, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	o, err := a.trialOptions(ctx, "plugin")
	if err != nil {
		return "", err
	}
	o.Workdir = a.config.Serve.Workdir
	problem, err = LoadPlugin(ctx, o, set, p)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("a plugin could not be tried", "plugin", p.Name, "error", err)
	}
	return problem, err
}

// LoadPlugin returns why an interpreter can't load a plugin of a set, "" if it can. An error
// says that it could not be tried.
func LoadPlugin(ctx context.Context, o TrialOptions, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	err = Try(ctx, o, func(t *Trial) error {
		problem, err = load(ctx, t, set, p)
		return err
	})
	if problem != "" { // whatever its interpreter says at its end
		return problem, nil
	}
	return "", err
}

// load has a fresh worker load a plugin and returns why it can't be.
func load(ctx context.Context, t *Trial, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	if err := t.Worker.Equip(ctx, Equipment(set)); err != nil {
		return "", err
	}
	outcome, err := t.Run(ctx, t.Worker, sessions.Request{Execution: 1, Kind: sessions.RunsCode, Code: CheckOfPlugin(p)})
	file := filepath.Base(p.File) + ": "
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return file + "it is not loaded after " + phrase.Duration(pluginTime), nil
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

// CheckOfPlugin is code that raises unless a plugin can be loaded.
func CheckOfPlugin(p plugins.Plugin) string {
	return fmt.Sprintf("import understudy_plugin\nunderstudy_plugin.check(%q)", p.Name)
}
