package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
	"understudy/internal/phrase"
	"understudy/internal/upstream"
	"understudy/tools"
	"understudy/tools/answer"
)

// OpenUpstream begins to connect to the servers of --mcp; nil where there are none, or
// nothing could call their tools. A mistake in the file is one of the settings, a
// *config.UsageError.
func OpenUpstream(c *config.Config, o upstream.Options) (*upstream.Servers, error) {
	m := c.Serve.MCP
	if m.MCP == "" {
		return nil, nil
	}
	if c.Serve.Mode == config.ModeCLIOnly {
		o.Logger.Warn("other MCP servers are not used: with --mode cli-only there is nothing that could call their tools", "file", m.MCP)
		return nil, nil
	}
	o.File, o.Allow, o.Version = m.MCP, m.MCPAllow, Version()
	servers, err := upstream.Open(o)
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return servers, nil
}

// openUpstream has the servers start while Python does; they end after all sessions.
func (a *App) openUpstream() (err error) {
	o := upstream.Options{Dir: filepath.Join(a.config.DataDir, consentsName), Logger: a.log}
	if a.traces != nil {
		o.Trace, o.Meta = a.traces.Upstream, traceContext{}
	}
	a.upstream, err = OpenUpstream(a.config, o)
	if a.upstream != nil {
		a.endWith(a.upstream.Close)
	}
	return err
}

// consentsName is the directory, in the data directory, of what users have agreed to.
const consentsName = "consents"

// tellUpstream has descriptions and lists tell of the servers.
func (a *App) tellUpstream(options *tools.Options) {
	if a.upstream == nil {
		return
	}
	if a.config.Serve.Mode == config.ModeFull {
		options.ServerSummary = func() string { return upstreamSummary(a.upstream.States()) }
	}
	// Without authentication nobody knows who would answer for whom.
	options.AsksConsent = !a.config.Serve.OverNetwork() || a.config.Serve.Authenticates()
	options.ServerProblems = func() []string { return upstreamProblems(a.upstream.States()) }
	plugins := options.PluginTools
	options.PluginTools = func() (all []tools.PluginTool) {
		if plugins != nil {
			all = plugins()
		}
		return append(all, upstreamTools(a.upstream)...)
	}
}

// followUpstream has the tools follow the servers. The first list of tools waits for those
// that start, for as long as it does for plugins.
func (a *App) followUpstream(to *server.MCPServer, refresh func()) {
	if a.upstream == nil {
		return
	}
	a.upstream.OnChange(refresh)
	refresh() // what has changed before
	until := time.Now().Add(listPatience)
	if to.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(to)
	}
	to.GetHooks().AddBeforeListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest) {
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		a.upstream.Ready(ctx)
		refresh() // as OnChange may be about to
	})
}

const (
	mostToldServers  = 20  // of which the description of run_python_code has a line
	mostServerLine   = 150 // characters of what it is for, and of why it has failed
	mostListedTools  = 100 // that --mode plugin-only offers
	mostToolNameSize = 60  // what clients take, with the name of a server's of theirs
)

// upstreamSummary is what a model reads of other servers, "" where there are none.
func upstreamSummary(states []upstream.State) string {
	states = slices.DeleteFunc(slices.Clone(states), func(s upstream.State) bool { return s.State == "disabled" })
	if len(states) == 0 {
		return ""
	}
	shown := states[:min(len(states), mostToldServers)]
	text := fmt.Sprintf("Tools of other MCP servers, functions of mcptools (from mcptools import %s; help(%[1]s); mcptools.search(\"words\") finds some):", shown[0].Module)
	for _, s := range shown {
		line := "mcptools." + s.Module
		if s.Purpose != "" {
			line += ": " + oneLine(s.Purpose)
		}
		text += fmt.Sprintf("\n- %s (%s)", answer.Clip(line, mostServerLine), condition(s))
	}
	if left := len(states) - len(shown); left > 0 {
		text += fmt.Sprintf("\n- and %d more: mcptools.servers()", left)
	}
	return text
}

// condition says how a server is, in a few words.
func condition(s upstream.State) string {
	switch s.State {
	case "ready":
		return phrase.Count(s.Tools, "tool")
	case "failed":
		return "failed: " + answer.Clip(oneLine(cmp.Or(s.Problem, "it can't be reached")), mostServerLine)
	}
	return s.State
}

// upstreamProblems are the servers that are not ready, one a line.
func upstreamProblems(states []upstream.State) (lines []string) {
	left := 0
	for _, s := range states {
		switch {
		case s.State == "ready", s.State == "disabled":
		case len(lines) == mostToldServers:
			left++
		default:
			lines = append(lines, fmt.Sprintf("MCP server %s (mcptools.%s): %s", s.Name, s.Module, condition(s)))
		}
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("%d more MCP servers are not ready: mcptools.servers()", left))
	}
	return lines
}

// upstreamTools are the tools that may be called without asking, as tools, for where there
// is no code.
func upstreamTools(servers *upstream.Servers) (all []tools.PluginTool) {
	for _, s := range servers.States() {
		for _, t := range servers.Tools(s.Name) {
			name := s.Module + "_" + t.Function
			if t.Permission != "allowed" || len(name) > mostToolNameSize || len(all) == mostListedTools {
				continue
			}
			all = append(all, tools.PluginTool{
				Name: name, Title: t.Title, Description: t.Description, Schema: t.InputSchema,
				ReadOnly: &t.ReadOnly, Destructive: &t.Destructive,
				Runs: "mcptools." + s.Module + "." + t.Function,
			})
		}
	}
	return all
}

// oneLine is a text without line ends, and without what a terminal would act on.
func oneLine(text string) string {
	return answer.OneLine(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
}
