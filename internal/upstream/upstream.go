package upstream

import (
	"context"
	"encoding/json"
	"log/slog"

	"understudy/sessions"
)

// Options say which servers there are, and what code may do with them.
type Options struct {
	File    string   // the file of --mcp
	Allow   []string // what --mcp-allow names: github.create_issue, github.*, *
	Dir     string   // where consents for always are kept; "" keeps them in memory
	Workdir string   // where stdio servers start; "" is the server's own
	Logger  *slog.Logger
}

// Servers are the other MCP servers of a file. It satisfies sessions.Toolbox.
type Servers struct{}

var _ sessions.Toolbox = (*Servers)(nil)

// State says how a server is, as sessions.ToolCatalog does.
type State struct {
	Name    string `json:"name"`
	Module  string `json:"module"`
	Purpose string `json:"purpose"`
	State   string `json:"state"` // ready, starting, failed or disabled
	Problem string `json:"problem"`
	Tools   int    `json:"tools"`
}

// Tool is one tool of a server.
type Tool struct {
	Name        string
	Function    string // its name in Python
	Title       string
	Description string
	InputSchema json.RawMessage
	ReadOnly    bool
	Destructive bool
	Permission  string // allowed, asks or denied
}

// Open reads the file, begins to connect to its servers and returns at once.
func Open(o Options) (*Servers, error) { return &Servers{}, nil }

// States says how each server is, in the order of the file.
func (s *Servers) States() []State { return nil }

// Ready returns when each server is ready or has failed, or when ctx ends.
func (s *Servers) Ready(ctx context.Context) {}

// OnChange has a function called after States would give another answer.
func (s *Servers) OnChange(changed func()) {}

// Tools are the tools of a server, in the server's order.
func (s *Servers) Tools(server string) []Tool { return nil }

// Close ends the connections, and the processes of stdio servers with all they started.
func (s *Servers) Close() {}

// Answer answers a request of code.
func (s *Servers) Answer(ctx context.Context, request sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	return nil, &sessions.ToolRefusal{Kind: sessions.RefusedUnavailable, Message: "not yet"}
}

// Permit says whether the client's code may call a tool.
func (s *Servers) Permit(client sessions.Client, request sessions.ToolRequest) (*sessions.Consent, error) {
	return nil, nil
}

// Allow keeps what the client's user has agreed to for always.
func (s *Servers) Allow(client sessions.Client, consent sessions.Consent) error { return nil }
