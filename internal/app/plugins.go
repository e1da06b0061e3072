package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
	"understudy/internal/plugins"
	"understudy/sessions"
	"understudy/tools"
)

// shelf gives sessions and tools the plugins that are there now. A nil one has
// none, and never will.
type shelf struct {
	registry *plugins.Registry
	loading  *loading

	mu      sync.Mutex
	refresh func() // of the tools; nil until they are there
	given   []sessions.Plugin
	of      int // the revision that given is of
}

var _ sessions.Equipper = (*shelf)(nil)

// openShelf reads the directory of --plugins.
func openShelf(c *config.Config, log *slog.Logger) (*shelf, error) {
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
	s := &shelf{}
	registry, err := plugins.Open(c.Serve.Plugins, plugins.Options{Logger: log, Changed: s.changed})
	if err != nil {
		return nil, err
	}
	s.registry = registry
	return s, nil
}

// Plugins returns what code is to find, and why it can't use the rest.
func (s *shelf) Plugins() ([]sessions.Plugin, int) {
	set := s.registry.Set()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != set.Revision {
		s.given, s.of = equipment(set), set.Revision
	}
	return s.given, s.of
}

// equipment is what sessions are told of a set. Of the broken ones they hear where
// the name may stand for them in Python.
func equipment(set plugins.Set) []sessions.Plugin {
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
	return given
}

// preloading returns the settings with what the plugins of this moment wish to be
// imported before interpreters are forked.
func (s *shelf) preloading(c *config.Config) *config.Config {
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
func (s *shelf) summary() string { return plugins.Summary(s.registry.Known()) }

// tools are the plugins as tools, for where there is no code.
func (s *shelf) tools() []tools.PluginTool {
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
func (s *shelf) attach(to *server.MCPServer, refresh func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.refresh = refresh
	s.mu.Unlock()
	if to.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(to)
	}
	to.GetHooks().AddBeforeListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest) {
		s.registry.Set()
		s.loading.await(ctx)
	})
	to.GetHooks().AddBeforeCallTool(func(context.Context, any, *mcp.CallToolRequest) { s.registry.Set() })
}

// changed is called when the registry has read a change.
func (s *shelf) changed() {
	s.mu.Lock()
	refresh := s.refresh
	s.mu.Unlock()
	if refresh != nil {
		refresh()
		s.loading.begin()
	}
}

// load has the plugins of this moment loaded.
func (s *shelf) load() {
	if s != nil {
		s.loading.begin()
	}
}

func (s *shelf) close() {
	if s != nil {
		s.loading.close()
	}
}
