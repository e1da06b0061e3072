package app

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
	"understudy/internal/upstream"
	"understudy/tools"
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

// serversFile is a file of --mcp with this text.
func serversFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "servers.json")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const oneGone = `{"mcpServers": {"gone": {"command": "no-such-program-anywhere"}}}`

// TestMistakesInServers are those of the settings: the server does not start.
func TestMistakesInServers(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"mcpServers\": 3}": "servers.json:2: ",
		oneGone:                 `"other.x" names no tool of a server in the file`,
	} {
		s, err := OpenUpstream(configOf(t, "--mcp", serversFile(t, text), "--mcp-allow", "other.x"), upstream.Options{})
		usage := &config.UsageError{}
		expect(t, s == nil && errors.As(err, &usage) && strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
}

// TestToolsFollowServers: what is put up is put up anew once a server has got somewhere.
func TestToolsFollowServers(t *testing.T) {
	c := configOf(t, "--mcp", serversFile(t, oneGone))
	servers, err := OpenUpstream(c, upstream.Options{})
	must(t, err)
	defer servers.Close()
	a := &App{config: c, upstream: servers}
	var options tools.Options
	a.tellUpstream(&options)
	refreshed := make(chan string, 100)
	a.followUpstream(server.NewMCPServer("understudy", "test"), func() { refreshed <- options.ServerSummary() })
	for told := range refreshed {
		if strings.Contains(told, "\n- mcptools.gone (failed: ") {
			break
		}
	}
	problems := options.ServerProblems()
	expect(t, len(problems) == 1 && strings.Contains(problems[0], "no-such-program-anywhere"), "%q", problems)
}

// TestWhoIsAskedForConsent: nobody over a network who can't be told from others.
func TestWhoIsAskedForConsent(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(tokens, nil, 0o600))
	for _, test := range []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"--transport", "http"}, false},
		{[]string{"--transport", "sse"}, false},
		{[]string{"--transport", "http", "--auth-tokens", tokens}, true},
		{[]string{"connect"}, true},
	} {
		var options tools.Options
		(&App{config: configOf(t, test.args...), upstream: &upstream.Servers{}}).tellUpstream(&options)
		expect(t, options.AsksConsent == test.want, "%q: %t", test.args, options.AsksConsent)
	}
}

// TestServersOfNoUse: where nothing could call their tools they are not started, which is said.
func TestServersOfNoUse(t *testing.T) {
	var log bytes.Buffer
	s, err := OpenUpstream(configOf(t, "--mode", "cli-only", "--mcp", "nowhere.json"), upstream.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	expect(t, err == nil && s == nil && strings.Contains(log.String(), "other MCP servers are not used"), "%v %v %s", s, err, &log)
}
