package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/phrase"
	"understudy/internal/upstream"
)

// upstreamTime is how long other servers have to start: the first start by npx or uvx
// downloads them.
const upstreamTime = 30 * time.Second

// upstream connects to the servers of --mcp as the server would. Code runs without them, so
// that one which can't be reached is no failure; a file that the server refuses is.
func (f *findings) upstream(ctx context.Context, c *config.Config) {
	servers, err := app.OpenUpstream(c, upstream.Options{Logger: quiet()})
	switch {
	case err != nil:
		f.add(groupServers, "file", stateFailed, "%v", err)
		return
	case servers == nil && c.Serve.MCP.MCP != "":
		f.add(groupServers, "file", stateNote, "%s is not used: nothing can call tools of other servers with --mode cli-only", c.Serve.MCP.MCP)
		return
	case servers == nil:
		return
	}
	defer servers.Close()
	ctx, cancel := context.WithTimeout(ctx, upstreamTime)
	defer cancel()
	servers.Ready(ctx)
	for _, s := range servers.States() {
		tools := servers.Tools(s.Name)
		found, detail := serverState(s, tools)
		f.add(groupServers, s.Name, found, "%s", detail)
		if unknown := unknownTools(c.Serve.MCPAllow, s, tools); len(unknown) > 0 {
			f.add(groupServers, s.Name, stateNote, "--mcp-allow names tools that it does not have: %s", strings.Join(unknown, ", "))
		}
	}
}

func serverState(s upstream.State, tools []upstream.Tool) (state, string) {
	switch s.State {
	case "ready":
		free := 0
		for _, t := range tools {
			if t.Permission == "allowed" {
				free++
			}
		}
		return stateOK, fmt.Sprintf("%s, of which code may call %d without asking; from mcptools import %s", phrase.Count(s.Tools, "tool"), free, s.Module)
	case "disabled":
		return stateNote, "disabled in the file"
	case "failed":
		return stateMissing, s.Problem
	}
	return stateMissing, fmt.Sprintf("it has not answered after %s; the server goes on trying, and code that calls it waits", phrase.Duration(upstreamTime))
}

// unknownTools are those that --mcp-allow names and a server that is ready has not.
func unknownTools(allowed []string, s upstream.State, tools []upstream.Tool) (unknown []string) {
	for _, name := range allowed {
		tool, its := strings.CutPrefix(name, s.Name+".")
		has := func(t upstream.Tool) bool { return t.Name == tool || t.Function == tool }
		if its && s.State == "ready" && !strings.Contains(tool, "*") && !slices.ContainsFunc(tools, has) {
			unknown = append(unknown, tool)
		}
	}
	return unknown
}
