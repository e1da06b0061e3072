package clientconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Server is what a client is told to run.
type Server struct {
	Name    string
	Command string
	// Args are the command's arguments. Nil leaves an entry's own in place.
	Args []string
}

// Scope says for whom a configuration holds.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Client describes how one program keeps its servers.
type Client struct {
	Title  string // as its users know it
	format format
	// user and project return the paths of the files; "" if there is none.
	user, project func(system) string
}

// format reads and changes the text of a file.
type format interface {
	// snippet is a whole file that holds the server alone.
	snippet(server Server) ([]byte, error)
	// merge returns the file with the server in it.
	merge(file []byte, server Server) ([]byte, error)
	// servers returns the objects or tables of servers in the file, by their names, that
	// hold in the directory.
	servers(file []byte, directory string) ([]map[string]any, error)
}

// system is where a program runs; tests make their own.
type system struct {
	os, home, directory string
	getenv              func(string) string
}

// Clients are the known clients by the names of --client.
var Clients = map[string]Client{
	"claude-desktop": {
		Title:  "Claude Desktop",
		format: jsonFormat{key: "mcpServers", strict: true},
		user:   func(s system) string { return s.settings("Claude", "claude_desktop_config.json") },
	},
	"claude-code": {
		Title:   "Claude Code",
		format:  jsonFormat{key: "mcpServers", projects: "projects", typed: true, strict: true},
		user:    func(s system) string { return filepath.Join(s.dir("CLAUDE_CONFIG_DIR", s.home), ".claude.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".mcp.json") },
	},
	"vscode": {
		Title:   "VS Code",
		format:  jsonFormat{key: "servers", typed: true},
		user:    func(s system) string { return s.settings("Code", "User", "mcp.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".vscode", "mcp.json") },
	},
	"cursor": {
		Title:   "Cursor",
		format:  jsonFormat{key: "mcpServers"},
		user:    func(s system) string { return filepath.Join(s.home, ".cursor", "mcp.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".cursor", "mcp.json") },
	},
	"codex": {
		Title:  "Codex",
		format: tomlFormat{},
		user: func(s system) string {
			return filepath.Join(s.dir("CODEX_HOME", filepath.Join(s.home, ".codex")), "config.toml")
		},
		project: func(s system) string { return filepath.Join(s.directory, ".codex", "config.toml") },
	},
}

// Path returns the file in which the client keeps servers of the scope.
func (c Client) Path(scope Scope) (string, error) {
	s, err := thisSystem()
	if err != nil {
		return "", err
	}
	return c.path(s, scope)
}

func (c Client) path(s system, scope Scope) (string, error) {
	if scope == User {
		return c.user(s), nil
	}
	if c.project == nil {
		return "", fmt.Errorf("%s has no configuration for projects; use --scope user", c.Title)
	}
	return c.project(s), nil
}

// Snippet returns a configuration that holds the server alone.
func (c Client) Snippet(server Server) ([]byte, error) { return c.format.snippet(server) }

func thisSystem() (system, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return system{}, fmt.Errorf("finding your home directory: %w", err)
	}
	directory, err := os.Getwd()
	if err != nil {
		return system{}, fmt.Errorf("finding the current directory: %w", err)
	}
	return system{os: runtime.GOOS, home: home, directory: directory, getenv: os.Getenv}, nil
}

// dir is the directory that a variable names, else the usual one.
func (s system) dir(variable, usual string) string {
	if directory := s.getenv(variable); directory != "" {
		return directory
	}
	return usual
}

// settings is a path below the directory in which desktop programs of this
// system keep their settings.
func (s system) settings(parts ...string) string {
	root := s.dir("XDG_CONFIG_HOME", filepath.Join(s.home, ".config"))
	switch s.os {
	case "darwin":
		root = filepath.Join(s.home, "Library", "Application Support")
	case "windows":
		root = s.dir("APPDATA", filepath.Join(s.home, "AppData", "Roaming"))
	}
	return filepath.Join(append([]string{root}, parts...)...)
}
