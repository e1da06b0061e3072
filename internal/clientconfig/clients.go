// Package clientconfig tells MCP clients of a server: by the command that a client has
// for it, else in the client's file. The files are other people's: everything in them
// that is not the server's own entry stays as it was, to the comment and the line ending.
//
// The words:
//
//   - client: a program that runs MCP servers, as Claude Desktop.
//   - scope: whether a file holds for the user everywhere or for one project.
//   - server: what is to be written: a name, a command and its arguments.
//   - entry: the server in a file, with what the user may have added to it.
package clientconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
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
	Title string // as its users know it
	// user and project return the paths of the files; project is nil if there is none.
	user, project func(system) string
	// key names the object or table of servers in the file.
	key string
	// typed says that an entry has "type": "stdio".
	typed bool
	// yaml says that the file is YAML, with Goose's words for what an entry has.
	yaml bool
	// argued says that the client takes no entry without "args", be they none.
	argued bool
	// edits says that Install writes the file. Others have a command for it, or get
	// what is to be put into their file.
	edits bool
	// command is the client's own command that adds a server for its user.
	command func(Server) []string
}

// system is where a program runs; tests make their own.
type system struct {
	os, home, directory string
	getenv              func(string) string
}

// Clients are the known clients by the names of --client.
var Clients = map[string]Client{
	"claude-desktop": {
		Title: "Claude Desktop", key: "mcpServers", edits: true,
		user: func(s system) string { return s.settings("Claude", "claude_desktop_config.json") },
	},
	"claude-code": {
		Title: "Claude Code", key: "mcpServers", typed: true,
		user:    func(s system) string { return filepath.Join(s.dir("CLAUDE_CONFIG_DIR", s.home), ".claude.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".mcp.json") },
		command: func(server Server) []string {
			return append([]string{"claude", "mcp", "add", "--scope", "user", server.Name, "--", server.Command}, server.Args...)
		},
	},
	"vscode": {
		Title: "VS Code", key: "servers", typed: true,
		user:    func(s system) string { return s.settings("Code", "User", "mcp.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".vscode", "mcp.json") },
		command: func(server Server) []string {
			return []string{"code", "--add-mcp", string(oneLine(server))}
		},
	},
	"cursor": {
		Title: "Cursor", key: "mcpServers", edits: true,
		user:    func(s system) string { return filepath.Join(s.home, ".cursor", "mcp.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".cursor", "mcp.json") },
	},
	"codex": {
		Title: "Codex", key: "mcp_servers",
		user: func(s system) string {
			return filepath.Join(s.dir("CODEX_HOME", filepath.Join(s.home, ".codex")), "config.toml")
		},
		project: func(s system) string { return filepath.Join(s.directory, ".codex", "config.toml") },
		command: func(server Server) []string {
			return append([]string{"codex", "mcp", "add", server.Name, "--", server.Command}, server.Args...)
		},
	},
	"gemini-cli": {
		Title: "Gemini CLI", key: "mcpServers", edits: true,
		user: func(s system) string {
			return filepath.Join(s.dir("GEMINI_CLI_HOME", s.home), ".gemini", "settings.json")
		},
		project: func(s system) string { return filepath.Join(s.directory, ".gemini", "settings.json") },
	},
	"windsurf": {
		Title: "Windsurf", key: "mcpServers", edits: true,
		user: func(s system) string { return filepath.Join(s.home, ".codeium", "windsurf", "mcp_config.json") },
	},
	"zed": {
		Title: "Zed", key: "context_servers", edits: true, argued: true,
		user:    func(s system) string { return s.unixSettings("zed", "settings.json") },
		project: func(s system) string { return filepath.Join(s.directory, ".zed", "settings.json") },
	},
	"goose": {
		Title: "Goose", key: "extensions", edits: true, argued: true, yaml: true,
		user: func(s system) string {
			if root := s.getenv("GOOSE_PATH_ROOT"); root != "" {
				return filepath.Join(root, "config", "config.yaml")
			}
			if s.os == "windows" {
				return s.settings("Block", "goose", "config", "config.yaml")
			}
			return s.unixSettings("goose", "config.yaml")
		},
	},
}

// Edits reports whether Install writes the client's file.
func (c Client) Edits() bool { return c.edits }

// Command is the client's own command that adds the server for its user, as a line for
// the shell; "" if the client has none for the scope, and on Windows, whose two shells take
// no quotes alike.
func (c Client) Command(scope Scope, server Server) string {
	if c.command == nil || scope != User || runtime.GOOS == "windows" {
		return ""
	}
	words := c.command(server)
	for i, word := range words {
		if !plainWord.MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

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

// unixSettings is like settings for programs that keep to ~/.config on macOS too.
func (s system) unixSettings(parts ...string) string {
	if s.os == "darwin" {
		s.os = "linux"
	}
	return s.settings(parts...)
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
