package clientconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntries(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ofUser, ofProject, codex := filepath.Join(home, ".claude.json"), filepath.Join(project, ".mcp.json"), filepath.Join(home, ".codex", "config.toml")
	// Claude Code keeps what is one user's in one project in the user's file.
	write(ofUser, `{"mcpServers":{"everywhere":{"command":"a"}},"projects":{"`+filepath.ToSlash(project)+`":{"mcpServers":{"here":{"command":"b"}}},"/elsewhere":{"mcpServers":{"there":{"command":"c"}}}}}`)
	write(ofProject, `{"mcpServers":{"remote":{"url":"https://x"},"shared":{"command":"d","args":["serve",1]}}}`)
	write(codex, "[mcp_servers.py]\ncommand = \"e\"\nargs = [\"serve\"]\n")
	write(filepath.Join(project, ".cursor", "mcp.json"), `{`)
	s := system{os: "linux", home: home, directory: filepath.ToSlash(project), getenv: func(string) string { return "" }}
	got, err := entries(s)
	if err == nil || !strings.Contains(err.Error(), "Cursor: ") || strings.Contains(err.Error(), "VS Code") {
		t.Errorf("the error is %v", err)
	}
	want := []Entry{
		{"Claude Code", User, ofUser, Server{Name: "everywhere", Command: "a"}},
		{"Claude Code", User, ofUser, Server{Name: "here", Command: "b"}},
		{"Claude Code", Project, ofProject, Server{Name: "remote"}},
		{"Claude Code", Project, ofProject, Server{Name: "shared", Command: "d", Args: []string{"serve", "1"}}},
		{"Codex", User, codex, Server{Name: "py", Command: "e", Args: []string{"serve"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
