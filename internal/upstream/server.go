package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of what a server may say of itself.
const (
	mostTools       = 2000
	mostSchemas     = 8 << 20 // bytes of all its schemas and descriptions
	mostDescription = 20_000  // characters of one tool's
	mostPurpose     = 200     // characters
)

const (
	startTime  = 30 * time.Second // for the handshake, and for the list of tools, but in tests
	firstPause = time.Second      // before it is started again
	mostPause  = time.Minute
	listPause  = time.Second // between two lists, however often they change
)

// The states of a server.
const (
	ready    = "ready"
	starting = "starting"
	failed   = "failed"
	disabled = "disabled"
)

// server is one server of the file.
type server struct {
	definition
	module  string
	allowed []string // --mcp-allow
	options Options
	log     *slog.Logger
	mask    *strings.Replacer // of what is logged and told
	keys    *strings.Replacer // of answers
	tell    func()            // that State is another
	settled chan struct{}
	settle  func()

	mu      sync.Mutex
	state   string
	problem string
	about   string // what it says of itself
	advice  string // its instructions
	tools   []*Tool
	conn    *connection   // nil unless it is ready
	turning chan struct{} // closed at the next change of state
}

func newServer(d definition, module string, o Options, tell func()) *server {
	s := &server{
		definition: d, module: module, allowed: o.Allow, options: o, tell: tell,
		log: o.Logger.With("mcp_server", d.name), mask: masking(d.secrets()), keys: masking(d.keysInAnswers()),
		settled: make(chan struct{}), state: starting, turning: make(chan struct{}),
	}
	s.settle = sync.OnceFunc(func() { close(s.settled) })
	if d.disabled {
		s.state = disabled
		s.settle()
	}
	return s
}

func masking(secrets []string) *strings.Replacer {
	// The longest first: one may be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "[secret]")
	}
	return strings.NewReplacer(pairs...)
}

// State says how the server is.
func (s *server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	purpose := s.purpose
	if purpose == "" {
		purpose = s.about
	}
	return State{Name: s.name, Module: s.module, Purpose: clip(purpose, mostPurpose), State: s.state, Problem: s.problem, Tools: len(s.tools)}
}

// live keeps a connection until ctx ends.
func (s *server) live(ctx context.Context) {
	pause := firstPause
	for {
		began := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > mostPause {
			pause = firstPause
		}
		s.become(failed, s.mask.Replace(err.Error()), nil)
		s.log.Warn("another MCP server can't be reached", "error", s.mask.Replace(err.Error()), "again_in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, mostPause)
	}
}

// serve has one connection, and returns why it was lost.
func (s *server) serve(ctx context.Context) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	for {
		if err := s.list(ctx, c); err != nil {
			return err
		}
		s.become(ready, "", c)
		select {
		case <-time.After(listPause):
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-c.changed:
		case err := <-c.lost:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// become changes the state.
func (s *server) become(state, problem string, c *connection) {
	s.mu.Lock()
	s.state, s.problem, s.conn = state, clip(problem, 500), c
	close(s.turning)
	s.turning = make(chan struct{})
	s.mu.Unlock()
	s.settle()
	s.tell()
}

// list fetches the tools.
func (s *server) list(ctx context.Context, c *connection) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.startTime, fmt.Errorf("it did not list its tools within %s", s.options.startTime))
	defer cancel()
	var all []*Tool
	taken, size := map[string]bool{}, 0
	request := mcp.ListToolsRequest{}
	for {
		page, err := c.client.ListToolsByPage(ctx, request)
		if err != nil {
			return fmt.Errorf("listing its tools: %w", because(ctx, err))
		}
		for i := range page.Tools {
			t, bytes := s.describe(&page.Tools[i], taken)
			if size += bytes; t == nil || size > mostSchemas || len(all) == mostTools {
				s.log.Warn("a tool of another MCP server is left out: it has no name, or there are too many, or they are too large", "tool", clip(page.Tools[i].Name, 100), "most", mostTools)
				if t == nil {
					continue
				}
				page.NextCursor = ""
				break
			}
			all = append(all, t)
		}
		if page.NextCursor == "" || len(page.Tools) == 0 {
			break
		}
		request.Params.Cursor = page.NextCursor
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = all
	return nil
}

// describe makes a tool one of ours; nil if it is none. bytes is how large it is.
func (s *server) describe(from *mcp.Tool, taken map[string]bool) (t *Tool, bytes int) {
	if from.Name == "" || len(from.Name) > 200 {
		return nil, 0
	}
	text, err := json.Marshal(from)
	if err != nil {
		return nil, 0
	}
	var said struct {
		Input  json.RawMessage `json:"inputSchema"`
		Output json.RawMessage `json:"outputSchema"`
	}
	if err := json.Unmarshal(text, &said); err != nil || len(text) > mostSchemas/4 {
		return nil, 0
	}
	t = &Tool{
		Name: from.Name, Function: pythonName(from.Name, taken), Title: clip(from.Title, 200),
		Description: from.Description, InputSchema: said.Input, OutputSchema: said.Output,
		ReadOnly:    from.Annotations.ReadOnlyHint != nil && *from.Annotations.ReadOnlyHint,
		Destructive: from.Annotations.DestructiveHint == nil || *from.Annotations.DestructiveHint,
	}
	if runes := []rune(t.Description); len(runes) > mostDescription {
		t.Description = string(runes[:mostDescription]) + "…"
	}
	t.Permission = s.permission(*t)
	t.digest = digest(from.Description, said.Input, t.ReadOnly, t.Destructive)
	t.schema = sync.OnceValue(func() *jsonschema.Schema { return compile(t.InputSchema) })
	return t, len(text)
}

// current returns the connection; one that is being made is waited for.
func (s *server) current(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.startTime)
	defer cancel()
	for {
		s.mu.Lock()
		conn, state, problem, turning := s.conn, s.state, s.problem, s.turning
		s.mu.Unlock()
		switch state {
		case ready:
			return conn, nil
		case disabled:
			return nil, errors.New("it is disabled in the operator's file")
		case failed:
			return nil, fmt.Errorf("%s; it is started again by itself", problem)
		}
		select {
		case <-turning:
		case <-ctx.Done():
			return nil, errors.New("it is still starting")
		}
	}
}

// because says why something failed whose context may have ended.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
