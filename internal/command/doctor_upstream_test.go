package command

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"understudy/internal/upstream"
)

// TestDoctorTellsOfServers: what code finds, and what of --mcp-allow means nothing.
func TestDoctorTellsOfServers(t *testing.T) {
	tools := []upstream.Tool{{Name: "search", Permission: "allowed"}, {Name: "create", Permission: "asks"}}
	ready := upstream.State{Name: "git-hub", Module: "git_hub", State: "ready", Tools: 2}
	for _, test := range []struct {
		server upstream.State
		state  state
		detail string
	}{
		{ready, stateOK, "2 tools, of which code may call 1 without asking; from mcptools import git_hub"},
		{upstream.State{State: "failed", Problem: "npx is not there"}, stateMissing, "npx is not there"},
		{upstream.State{State: "starting"}, stateMissing, "it has not answered after 30 seconds; the server goes on trying, and code that calls it waits"},
		{upstream.State{State: "disabled"}, stateNote, "disabled in the file"},
	} {
		got, detail := serverState(test.server, tools)
		expect(t, got == test.state && detail == test.detail, "%+v: %s, %s", test.server, got, detail)
	}
	unknown := unknownTools([]string{"*", "git-hub.*", "git-hub.create", "git-hub.creat", "other.x"}, ready, tools)
	expect(t, slices.Equal(unknown, []string{"creat"}), "%q", unknown)
}

// TestDoctorTriesServers: a file that serve refuses is a failure, a server that can't be
// reached is none; nothing is told of them where nobody asked.
func TestDoctorTriesServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.json")
	t.Setenv("UNDERSTUDY_MCP", path)
	try := func(text string) *findings {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		f := &findings{Works: true}
		f.upstream(t.Context(), configOf(t, "doctor"))
		return f
	}
	f := try("{\n  \"mcpServers\": [\n")
	expect(t, !f.Works && hasCheck(*f, "file", stateFailed, "servers.json:"), "%+v", f)
	f = try(`{"mcpServers": {"gone": {"command": "no-such-program-anywhere"}}}`)
	expect(t, f.Works && hasCheck(*f, "gone", stateMissing, "no-such-program-anywhere"), "%+v", f)
	t.Setenv("UNDERSTUDY_MODE", "cli-only")
	f = try("{}")
	expect(t, f.Works && hasCheck(*f, "file", stateNote, "is not used"), "%+v", f)
	t.Setenv("UNDERSTUDY_MCP", "")
	f = try("{}")
	expect(t, f.Works && len(f.Checks) == 0, "%+v", f)
}
