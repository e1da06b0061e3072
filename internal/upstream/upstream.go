package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/tracing"

	"understudy/schemas"
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
	Trace func(ctx context.Context, server, tool string) (traced context.Context, end func(error))
	Meta  tracing.MetaPropagator
	// Version is what the servers are told of this program.
	Version string
	Logger  *slog.Logger
}

// Servers are the upstream servers of a file. It satisfies sessions.Toolbox.
type Servers struct {
	options  Options
	all      []*server // in the order of the file
	consents *consents
	ctx      context.Context // ended by Close
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	onChange []func()
}

var _ sessions.Toolbox = (*Servers)(nil)

// State says how a server is, as sessions.ToolCatalog does. Problem may say of one that
// is ready which tools are left out.
type State struct {
	Name    string `json:"name"`
	Module  string `json:"module"`
	Purpose string `json:"purpose"`
	State   string `json:"state"` // ready, starting, failed or disabled
	Problem string `json:"problem"`
	Tools   int    `json:"tools"`
}

// Tool is one tool of a server, as sessions.ToolList has it.
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
}

// Open reads the file, begins to connect to its servers and returns at once. Its errors
// say the line of the file and what to do.
func Open(o Options) (*Servers, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	entries, err := readFile(o.File, o.Logger)
	if err != nil {
		return nil, err
	}
	s := &Servers{options: o}
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	modules := identifiers(names, "server", packageNames)
	for _, e := range entries {
		state := stateStarting
		if e.disabled {
			state = stateDisabled
		}
		s.all = append(s.all, &server{
			entry: e, module: modules[e.name], options: o, log: o.Logger, changed: s.tellChange,
			state: state, turned: make(chan struct{}),
		})
	}
	if err := s.checkAllow(); err != nil {
		return nil, err
	}
	if s.consents, err = openConsents(o.Dir); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, one := range s.all {
		if !one.disabled {
			s.running.Go(func() { one.run(s.ctx) })
		}
	}
	return s, nil
}

// Close ends the connections, and the processes of stdio servers with all they started.
func (s *Servers) Close() {
	s.cancel()
	s.running.Wait()
}

// States says how each server is, in the order of the file.
func (s *Servers) States() []State {
	states := make([]State, 0, len(s.all))
	for _, one := range s.all {
		one.mu.Lock()
		states = append(states, State{
			Name: one.name, Module: one.module, Purpose: one.purpose(),
			State: one.state, Problem: one.problem, Tools: len(one.tools),
		})
		one.mu.Unlock()
	}
	return states
}

// purpose says what a server is for in a line: by the file, or as it says itself. The
// caller has the lock.
func (s *server) purpose() string {
	if s.description != "" {
		return clip(s.description, 200)
	}
	if s.about != "" {
		return clip(visible(s.about), 200)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(s.instructions), "\n")
	return clip(visible(first), 200)
}

// Ready returns when each server is ready or has failed, or when ctx ends.
func (s *Servers) Ready(ctx context.Context) {
	for _, one := range s.all {
		for {
			one.mu.Lock()
			state, turned := one.state, one.turned
			one.mu.Unlock()
			if state != stateStarting {
				break
			}
			select {
			case <-turned:
			case <-ctx.Done():
				return
			case <-s.ctx.Done():
				return
			}
		}
	}
}

// OnChange has a function called after States, or Tools, would give another answer.
func (s *Servers) OnChange(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChange = append(s.onChange, changed)
}

func (s *Servers) tellChange() {
	s.mu.Lock()
	all := s.onChange
	s.mu.Unlock()
	for _, changed := range all {
		changed()
	}
}

// Tools are the tools of a server, in the server's order; none of one that is not known,
// or was never ready.
func (s *Servers) Tools(name string) []Tool {
	of, err := s.server(name)
	if err != nil {
		return nil
	}
	of.mu.Lock()
	tools := of.tools
	of.mu.Unlock()
	list := make([]Tool, 0, len(tools))
	for _, t := range tools {
		list = append(list, Tool{
			Name: t.name, Function: t.function, Title: t.title, Description: t.description,
			InputSchema: t.input, OutputSchema: t.output, ReadOnly: t.readOnly, Destructive: t.destructive,
			Permission: s.permission(of, t),
		})
	}
	return list
}

// Answer answers a request of code. An error is a *sessions.ToolRefusal.
func (s *Servers) Answer(ctx context.Context, request sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	switch request.Op {
	case sessions.ToolCatalog:
		return encode(map[string]any{"servers": s.States()})
	case sessions.ToolSearch:
		return encode(s.search(request.Name))
	}
	of, err := s.server(request.Server)
	if err != nil {
		return nil, err
	}
	switch request.Op {
	case sessions.ToolList:
		return s.toolList(ctx, of)
	case sessions.ToolCall:
		return of.call(ctx, request.Name, request.Arguments)
	case sessions.ToolRead:
		return of.read(ctx, request.Name)
	}
	return nil, refuse(sessions.RefusedInvalid, "%q is no request that can be answered", clip(string(request.Op), 60))
}

// toolList answers with what is known of a server that was ready before: its functions
// stay while it is away.
func (s *Servers) toolList(ctx context.Context, of *server) (*sessions.ToolAnswer, error) {
	if _, err := of.ready(ctx); err != nil && len(s.Tools(of.name)) == 0 {
		return nil, err
	}
	of.mu.Lock()
	purpose, instructions := of.purpose(), of.instructions
	of.mu.Unlock()
	return encode(map[string]any{
		"server": of.name, "module": of.module, "purpose": purpose, "instructions": instructions, "tools": s.Tools(of.name),
	})
}

func encode(body any) (*sessions.ToolAnswer, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &sessions.ToolAnswer{Body: encoded}, nil
}

// server finds one by its name in the file.
func (s *Servers) server(name string) (*server, error) {
	for _, one := range s.all {
		if one.name == name {
			return one, nil
		}
	}
	return nil, refuse(sessions.RefusedInvalid, "there is no MCP server %q%s", clip(name, 60), meant(name, s.names()))
}

func (s *Servers) names() (names []string) {
	for _, one := range s.all {
		names = append(names, one.name)
	}
	return names
}

// tool finds one by its name at the server.
func (s *server) tool(name string) (*tool, error) {
	s.mu.Lock()
	tools := s.tools
	s.mu.Unlock()
	var names []string
	for _, t := range tools {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, refuse(sessions.RefusedInvalid, "the MCP server %s has no tool %q%s", s.name, clip(name, 60), meant(name, names))
}

// meant says what was probably meant, or what there is.
func meant(name string, names []string) string {
	if near, ok := schemas.Nearest(name, names); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; there are " + listed(names)
}
