package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/tracing"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"understudy/sessions"
)

// Options say which servers there are, and what code may do with them.
type Options struct {
	File    string   // the file of --mcp
	Allow   []string // what --mcp-allow names: github.create_issue, github.*, *
	Dir     string   // where consents for always are kept; "" keeps them in memory
	Workdir string   // where stdio servers start; "" is the server's own
	// Trace, if set, begins a span for a call; end takes how it went. Meta carries it to
	// the server.
	Trace  func(ctx context.Context, server, tool string) (traced context.Context, end func(error))
	Meta   tracing.MetaPropagator
	Logger *slog.Logger

	startTime time.Duration // see there
}

// Servers are the other MCP servers of a file. It satisfies sessions.Toolbox.
type Servers struct {
	all      []*server
	consents *consents
	life     context.Context
	endLife  context.CancelFunc
	living   sync.WaitGroup

	mu      sync.Mutex
	changed []func()
}

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
	Name         string          `json:"name"`
	Function     string          `json:"function"` // its name in Python
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	ReadOnly     bool            `json:"read_only"`
	Destructive  bool            `json:"destructive"`
	Permission   string          `json:"permission"` // allowed, asks or denied

	digest string
	schema func() *jsonschema.Schema // compiled by the first call
}

// Open reads the file, begins to connect to its servers and returns at once.
func Open(o Options) (*Servers, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.startTime == 0 {
		o.startTime = startTime
	}
	definitions, notes, err := read(o.File, os.LookupEnv)
	if err == nil {
		err = checkAllow(o.Allow, definitions)
	}
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		o.Logger.Warn("a setting of another MCP server", "file", o.File, "note", note)
	}
	s := &Servers{}
	if s.consents, err = openConsents(o.Dir); err != nil {
		return nil, err
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	taken := map[string]bool{}
	for _, d := range definitions {
		one := newServer(d, pythonName(d.name, taken), o, s.tell)
		s.all = append(s.all, one)
		if !d.disabled {
			s.living.Go(func() { one.live(s.life) })
		}
	}
	return s, nil
}

// checkAllow refuses what names no server of the file.
func checkAllow(patterns []string, definitions []definition) error {
	for _, pattern := range patterns {
		name, _, ok := strings.Cut(pattern, ".")
		if pattern == "*" {
			continue
		}
		known := slices.ContainsFunc(definitions, func(d definition) bool {
			return strings.HasPrefix(pattern, d.name+".") || pythonName(d.name, map[string]bool{}) == name
		})
		if !ok || !known {
			var names []string
			for _, d := range definitions {
				names = append(names, d.name)
			}
			return fmt.Errorf("mcp-allow: %q names no tool of a server in the file; write SERVER.TOOL or SERVER.*, with one of the servers %s", pattern, strings.Join(names, ", "))
		}
	}
	return nil
}

// States says how each server is, in the order of the file.
func (s *Servers) States() []State {
	states := make([]State, len(s.all))
	for i, one := range s.all {
		states[i] = one.State()
	}
	return states
}

// Ready returns when each server is ready or has failed, or when ctx ends.
func (s *Servers) Ready(ctx context.Context) {
	for _, one := range s.all {
		select {
		case <-one.settled:
		case <-ctx.Done():
			return
		}
	}
}

// OnChange has a function called after States would give another answer.
func (s *Servers) OnChange(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = append(s.changed, changed)
}

func (s *Servers) tell() {
	s.mu.Lock()
	changed := slices.Clone(s.changed)
	s.mu.Unlock()
	for _, each := range changed {
		each()
	}
}

// Tools are the tools of a server, in the server's order.
func (s *Servers) Tools(name string) (all []Tool) {
	for _, one := range s.all {
		if one.name == name {
			one.mu.Lock()
			defer one.mu.Unlock()
			for _, t := range one.tools {
				all = append(all, *t)
			}
		}
	}
	return all
}

// Close ends the connections, and the processes of stdio servers with all they started.
func (s *Servers) Close() {
	s.endLife()
	s.living.Wait()
}

// refuse makes the error that code gets.
func refuse(kind sessions.RefusalKind, format string, args ...any) error {
	return &sessions.ToolRefusal{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
