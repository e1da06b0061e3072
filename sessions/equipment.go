package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"understudy/internal/phrase"
)

// equipTime is how long a worker may take for what it is told of plugins.
const equipTime = 30 * time.Second

// Equipment is what the executions of a session find beside Python.
type Equipment struct {
	Plugins []Plugin
	// Variables are the session variables: plugins read them, code does not.
	Variables map[string]string
}

// Plugin is a function of the operator's that code may call by its name.
type Plugin struct {
	Name string `json:"name"`
	// File is where the source is from, for tracebacks; Source is Python.
	File   string `json:"file"`
	Source string `json:"source"`
	// Configuration is what the operator has set for it, a JSON value for each key.
	Configuration map[string]any `json:"configuration"`
	// Signature is as Python writes it after the name, "(path, limit=1000)", and
	// Doc what help() shows: both are there before the source was loaded.
	Signature string `json:"signature"`
	Doc       string `json:"doc"`
	// Helpers is another one whenever a module has changed that plugins may import
	// from their directory. All are loaded anew then: which imports which is not
	// known.
	Helpers string `json:"helpers"`
	// Broken says why it can't be used, "" when it can; there is no source then.
	Broken string `json:"broken"`
}

// Equipper knows the plugins that sessions are to find.
type Equipper interface {
	// Plugins returns them, and a number that is another one whenever they differ.
	Plugins() (plugins []Plugin, revision int)
}

// equipped is what a worker was last told.
type equipped struct {
	worker    Worker
	revision  int
	variables int // how often they had been set
}

// equip tells the worker of plugins and session variables if it doesn't know them:
// a fresh one, one that was brought back, one from before a change. The caller has
// the turn.
func (s *Session) equip(ctx context.Context) error {
	var equipment Equipment
	now := equipped{worker: s.lead()}
	if now.worker == nil { // the session has ended in this moment, which its caller finds
		return nil
	}
	equipment.Variables, now.variables = s.variablesNow()
	if s.options.Equipper != nil {
		equipment.Plugins, now.revision = s.options.Equipper.Plugins()
	}
	if now == s.equipped || s.options.Equipper == nil && s.options.Toolbox == nil && now.variables == 0 {
		return nil
	}
	// Not the caller's wait bounds it, which may be shorter than a busy machine needs.
	ctx, cancel := context.WithTimeout(ctx, equipTime)
	defer cancel()
	if err := now.worker.Equip(ctx, equipment); err != nil {
		return err
	}
	s.equipped = now
	return nil
}

// The bounds of session variables: every worker of a session is told them.
const (
	mostSessionVariables = 100
	mostVariableName     = 100    // characters
	mostVariableValue    = 10_000 // characters
)

// Setting says what became of a session's variables for plugins.
type Setting struct {
	InterpreterID string `json:"interpreter_id"`
	// Set and Removed are the names that the call was about, sorted; one that was
	// to be removed and was not there is in neither.
	Set     []string `json:"set,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Names are all that are set now, sorted.
	Names []string `json:"session_variables"`
}

// SetVariables sets session variables of a session, or of the client's default one, which
// is made if need be; a nil value removes one. All are taken or none. Plugins find them
// from the next execution on. They are no part of Python's state: a restart keeps them, an
// undo does not bring them back, and a branch begins with a copy. Its errors are
// CodeInvalid, CodeNotFound, CodeLimit, CodeStart and CodeClosed.
func (m *Manager) SetVariables(ctx context.Context, client Client, id string, variables map[string]*string) (*Setting, error) {
	if len(variables) == 0 {
		return nil, Errorf(CodeInvalid, "variables must name at least one session variable, as in [{\"name\": \"database\", \"value\": \"sales.db\"}]")
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if err := checkSessionVariable(name, variables[name]); err != nil {
			return nil, err
		}
	}
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.session(ctx, client, id)
	if err != nil {
		return nil, err
	}
	_, leave, err := s.visit(ctx, aUser)
	if err == nil {
		defer leave()
		var set *Setting
		if set, err = s.setVariables(variables); err == nil {
			return set, nil
		}
	}
	if client == Anonymous && id == "" {
		m.discard(ctx, s)
	}
	return nil, err
}

// CheckSessionVariables refuses what SetVariables would, for those that each
// session begins with.
func CheckSessionVariables(variables map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		if err := checkSessionVariable(name, &value); err != nil {
			return err
		}
	}
	if len(variables) > mostSessionVariables {
		return tooManyVariables(len(variables))
	}
	return nil
}

func checkSessionVariable(name string, value *string) error {
	switch {
	case name == "":
		return Errorf(CodeInvalid, "a session variable has an empty name; give it one")
	case utf8.RuneCountInString(name) > mostVariableName:
		return Errorf(CodeInvalid, "the name of a session variable, %.30s…, has more than %d characters", name, mostVariableName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return Errorf(CodeInvalid, "the name of a session variable, %q, has control characters", name)
	case value != nil && utf8.RuneCountInString(*value) > mostVariableValue:
		return Errorf(CodeInvalid, "session variable %q has %d characters, and at most %d are taken; put the text into a file and set its path", name, utf8.RuneCountInString(*value), mostVariableValue)
	}
	return nil
}

func tooManyVariables(n int) error {
	return Errorf(CodeInvalid, "there would be %d session variables, and at most %d are taken; remove some by setting them to null", n, mostSessionVariables)
}

func (s *Session) setVariables(variables map[string]*string) (*Setting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := maps.Clone(s.sessionVariables)
	if now == nil {
		now = map[string]string{}
	}
	done := &Setting{InterpreterID: s.name}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		_, there := now[name]
		switch {
		case value != nil:
			now[name] = *value
			done.Set = append(done.Set, name)
		case there:
			delete(now, name)
			done.Removed = append(done.Removed, name)
		}
	}
	if len(now) > mostSessionVariables {
		return nil, tooManyVariables(len(now))
	}
	s.sessionVariables = now
	s.keepSecret(now)
	s.variablesSet++
	done.Names = slices.AppendSeq([]string{}, maps.Keys(now))
	slices.Sort(done.Names)
	return done, nil
}

// variablesNow returns the session variables, not to be changed, and how often
// they have been set.
func (s *Session) variablesNow() (variables map[string]string, set int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionVariables, s.variablesSet
}

// Toolbox reaches the tools of other MCP servers, which code calls as functions of the
// Python package mcptools. internal/upstream satisfies it.
type Toolbox interface {
	// Answer answers a request of code. A call has been permitted before, and ends, at
	// the other server too, when ctx does. An error that code is to read is a *ToolRefusal.
	Answer(ctx context.Context, request ToolRequest) (*ToolAnswer, error)
	// Permit says whether the client's code may call the tool that a request of ToolCall
	// names. With a Consent it may once the user has agreed to that; the error, a
	// *ToolRefusal, says why it may not at all.
	Permit(ctx context.Context, client Client, request ToolRequest) (*Consent, error)
	// Allow has Permit ask no more for what the client's user has agreed to for always.
	Allow(client Client, consent Consent) error
}

// ToolRequest is what code wants of other MCP servers.
type ToolRequest struct {
	Op ToolOp `json:"op"`
	// Server is its name in the file of --mcp; "" for ToolCatalog and ToolSearch.
	Server string `json:"server,omitempty"`
	// Name is that of the tool as its server has it, the URI of a resource for ToolRead,
	// and the words for ToolSearch.
	Name string `json:"name,omitempty"`
	// Arguments are those of ToolCall, an object.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// ToolOp is the kind of a ToolRequest.
type ToolOp string

// The kinds of requests, and the bodies of their answers.
const (
	// {"servers": [{"name", "module", "purpose", "state", "problem", "tools"}]}: module is
	// the name to import, state one of ready, starting, failed and disabled, problem says
	// why it is not ready, tools is how many there are.
	ToolCatalog ToolOp = "catalog"
	// {"server", "module", "purpose", "instructions", "tools": [{"name", "function", "title",
	// "description", "input_schema", "output_schema", "read_only", "destructive",
	// "permission"}]}: function is the name in Python, output_schema is left out where there
	// is none, permission is one of allowed, asks and denied.
	ToolList ToolOp = "tools"
	// {"tools": [{"server", "module", "name", "function", "summary"}], "left_out": 0}, the
	// best first.
	ToolSearch ToolOp = "search"
	// {"is_error", "structured", "content": [part]}: structured is the data that the result
	// is, unwrapped, and left out where there is none; a part is {"type": "text", "text"}, {"type": "image" or "audio", "mime_type",
	// "attachment"}, {"type": "resource_link", "uri", "name", "title", "description",
	// "mime_type"} or {"type": "resource", "uri", "mime_type", and "text" or "attachment"};
	// attachment is an index into the answer's Attachments.
	ToolCall ToolOp = "call"
	// {"contents": [part of type resource]}
	ToolRead ToolOp = "read"
)

// ToolAnswer is what a request came to: a JSON object in the form that its kind has, and
// the bytes that it refers to.
type ToolAnswer struct {
	Body        json.RawMessage
	Attachments [][]byte
}

// ToolRefusal is an error that code gets as mcptools.ToolError.
type ToolRefusal struct {
	Kind    RefusalKind
	Message string // a sentence with the next step
}

func (r *ToolRefusal) Error() string { return r.Message }

// RefusalKind tells refusals apart.
type RefusalKind string

// The kinds of refusals.
const (
	RefusedDenied      RefusalKind = "denied"      // it may not be called
	RefusedInvalid     RefusalKind = "invalid"     // no such server or tool, or wrong arguments
	RefusedUnavailable RefusalKind = "unavailable" // the other server is not there, or failed
	RefusedLimit       RefusalKind = "limit"       // too many, too large
	RefusedCancelled   RefusalKind = "cancelled"   // the run has ended, or was interrupted
)

// Consent is what a user is to agree to before code calls a tool.
type Consent struct {
	// Key is what is agreed to: a tool, in the form that it had when the user was asked.
	Key string
	// Text says in plain words what would be done.
	Text string
}

// ToolUse is one call of another server's tool, for the record of an execution.
type ToolUse struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // left out where they are too long to be kept
	Started   time.Time       `json:"started"`
	Seconds   float64         `json:"seconds"`
	// Status is ok, error (the tool said so), or the kind of its refusal.
	Status string `json:"status"`
	// Message is of an error or a refusal.
	Message string `json:"message,omitempty"`
	// Result is the body of the answer without attachments; left out where it is too long
	// to be kept. Bytes is how long the answer was, with its attachments.
	Result json.RawMessage `json:"result,omitempty"`
	Bytes  int             `json:"bytes"`
}

// ToolCalls sums up the calls of other servers' tools that an execution made.
type ToolCalls struct {
	Count  int            `json:"count"`
	Failed int            `json:"failed,omitempty" jsonschema_description:"How many of them failed or were refused"`
	ByTool map[string]int `json:"by_tool" jsonschema_description:"How many of each tool, by server.tool"`
}

// ToolOK is the Status of a ToolUse that gave a result.
const ToolOK = "ok"

// Outcome says in some words what a call came to, as "12 KB in 0.4 s" or "denied in 3 ms: …".
func (u ToolUse) Outcome() string {
	took := phrase.Short(time.Duration(u.Seconds * float64(time.Second)))
	if u.Status == ToolOK {
		return fmt.Sprintf("%s in %s", phrase.Size(int64(u.Bytes)), took)
	}
	return fmt.Sprintf("%s in %s: %s", u.Status, took, u.Message)
}
