package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"understudy/internal/upstream"
)

// TestUpstreamSummary: a model reads a line of each server, whatever that says of itself.
func TestUpstreamSummary(t *testing.T) {
	states := []upstream.State{
		{Name: "off", Module: "off", State: "disabled", Tools: 3},
		{Name: "git-hub", Module: "git_hub", Purpose: "issues\nand pull\x00 requests", State: "ready", Tools: 23},
		{Name: "one", Module: "one", State: "ready", Tools: 1},
		{Name: "slow", Module: "slow", Purpose: "waits", State: "starting"},
		{Name: "bad", Module: "bad", State: "failed", Problem: "npx is\nnot there; install Node"},
	}
	got := upstreamSummary(states)
	for _, want := range []string{
		"(from mcptools import git_hub; help(git_hub); mcptools.search(\"words\")",
		"\n- mcptools.git_hub: issues and pull requests (23 tools)\n- mcptools.one (1 tool)\n",
		"\n- mcptools.slow: waits (starting)\n- mcptools.bad (failed: npx is not there; install Node)",
	} {
		expect(t, strings.Contains(got, want) && !strings.Contains(got, "off"), "%q is not in\n%s", want, got)
	}
	lines := upstreamProblems(states)
	expect(t, len(lines) == 2 && lines[1] == "MCP server bad (mcptools.bad): failed: npx is not there; install Node", "%q", lines)
	expect(t, upstreamSummary(states[:1]) == "" && upstreamProblems(states[:3]) == nil, "something is told of what is disabled, or ready")
}

// TestManyServers cost a model no more than twenty.
func TestManyServers(t *testing.T) {
	var states []upstream.State
	for i := range 25 {
		name := fmt.Sprint("server", i)
		states = append(states, upstream.State{Name: name, Module: name, Purpose: strings.Repeat("long ", 1000), State: "failed", Problem: strings.Repeat("why ", 1000)})
	}
	got := upstreamSummary(states)
	expect(t, strings.HasSuffix(got, "\n- and 5 more: mcptools.servers()") && len(got) < 20*2*(mostServerLine+20), "%d bytes: %s", len(got), got)
	lines := upstreamProblems(states)
	expect(t, len(lines) == mostToldServers+1 && lines[mostToldServers] == "5 more MCP servers are not ready: mcptools.servers()", "%q", lines)
}

// TestServersOfNoUse: where nothing could call their tools they are not started, which is said.
func TestServersOfNoUse(t *testing.T) {
	var log bytes.Buffer
	s, err := OpenUpstream(configOf(t, "--mode", "cli-only", "--mcp", "nowhere.json"), upstream.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	expect(t, err == nil && s == nil && strings.Contains(log.String(), "other MCP servers are not used"), "%v %v %s", s, err, &log)
}
