package sessions

import (
	"context"
	"encoding/json"
	"time"
)

// Toolbox reaches the tools of other MCP servers, which code calls as functions of the
// Python package mcptools. internal/upstream satisfies it.
type Toolbox interface {
	// Answer answers a request of code. A call has been permitted before, and ends, at
	// the other server too, when ctx does. An error that code is to read is a *ToolRefusal.
	Answer(ctx context.Context, request ToolRequest) (*ToolAnswer, error)
	// Permit says whether the client's code may call the tool that a request of ToolCall
	// names. With a Consent it may once the user has agreed to that; the error, a
	// *ToolRefusal, says why it may not at all.
	Permit(client Client, request ToolRequest) (*Consent, error)
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
