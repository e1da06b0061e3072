package clientconfig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	at := func(os string, env map[string]string) system {
		return system{os: os, home: "H", directory: "P", getenv: func(name string) string { return env[name] }}
	}
	windows := map[string]string{"APPDATA": filepath.Join("H", "Roaming")}
	for _, test := range []struct {
		client string
		system system
		scope  Scope
		want   string // with / for the system's separator, "" for an error
	}{
		{"claude-desktop", at("linux", nil), User, "H/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", at("linux", map[string]string{"XDG_CONFIG_HOME": "X"}), User, "X/Claude/claude_desktop_config.json"},
		{"claude-desktop", at("darwin", nil), User, "H/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", at("windows", windows), User, "H/Roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", at("windows", nil), User, "H/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", at("linux", nil), Project, ""},
		{"claude-code", at("darwin", nil), User, "H/.claude.json"},
		{"claude-code", at("linux", map[string]string{"CLAUDE_CONFIG_DIR": "C"}), User, "C/.claude.json"},
		{"claude-code", at("windows", nil), Project, "P/.mcp.json"},
		{"vscode", at("linux", nil), User, "H/.config/Code/User/mcp.json"},
		{"vscode", at("darwin", nil), User, "H/Library/Application Support/Code/User/mcp.json"},
		{"vscode", at("windows", windows), User, "H/Roaming/Code/User/mcp.json"},
		{"vscode", at("linux", nil), Project, "P/.vscode/mcp.json"},
		{"cursor", at("darwin", nil), User, "H/.cursor/mcp.json"},
		{"cursor", at("windows", windows), Project, "P/.cursor/mcp.json"},
		{"codex", at("linux", nil), User, "H/.codex/config.toml"},
		{"codex", at("linux", map[string]string{"CODEX_HOME": "X"}), User, "X/config.toml"},
		{"codex", at("darwin", nil), Project, "P/.codex/config.toml"},
		{"gemini-cli", at("windows", windows), User, "H/.gemini/settings.json"},
		{"gemini-cli", at("linux", map[string]string{"GEMINI_CLI_HOME": "X"}), User, "X/.gemini/settings.json"},
		{"gemini-cli", at("linux", nil), Project, "P/.gemini/settings.json"},
		{"windsurf", at("windows", windows), User, "H/.codeium/windsurf/mcp_config.json"},
		{"windsurf", at("linux", nil), Project, ""},
		{"zed", at("linux", map[string]string{"XDG_CONFIG_HOME": "X"}), User, "X/zed/settings.json"},
		{"zed", at("darwin", nil), User, "H/.config/zed/settings.json"},
		{"zed", at("windows", windows), User, "H/Roaming/zed/settings.json"},
		{"zed", at("linux", nil), Project, "P/.zed/settings.json"},
		{"goose", at("darwin", nil), User, "H/.config/goose/config.yaml"},
		{"goose", at("linux", map[string]string{"GOOSE_PATH_ROOT": "X"}), User, "X/config/config.yaml"},
		{"goose", at("windows", windows), User, "H/Roaming/Block/goose/config/config.yaml"},
		{"goose", at("linux", nil), Project, ""},
	} {
		got, err := Clients[test.client].path(test.system, test.scope)
		if filepath.ToSlash(got) != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s %s on %s: %q, %v; want %q", test.client, test.scope, test.system.os, got, err, test.want)
		}
	}
}

// The example must say what install would write for a program on PATH.
func TestExampleOfClaudeDesktop(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "claude_desktop.json"))
	if err != nil {
		t.Fatal(err)
	}
	var example any
	if err := json.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	snippet, err := Clients["claude-desktop"].Snippet(Server{Name: "understudy", Command: "understudy"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(snippet)); diff != "" {
		t.Errorf("(-example +snippet)\n%s", diff)
	}
}
