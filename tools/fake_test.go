package tools

import (
	"context"
	"encoding/json"
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	says "understudy/internal/check"
	"understudy/sessions"
)

// answering returns a Manager whose runs all give this result.
func answering(r *sessions.Result) *fakeManager {
	return &fakeManager{run: func(context.Context, sessions.Client, sessions.RunRequest) (*sessions.Result, error) { return r, nil }}
}

// eras are the two ways in which a client may speak.
var eras = map[string][]client.ClientOption{
	"modern": nil,
	"legacy": {client.WithLegacyProtocolOnly()},
}

// connect returns a client, of the given name, of a server with our tools.
func connect(t *testing.T, name string, m Manager, o Options, options ...client.ClientOption) *client.Client {
	t.Helper()
	s := server.NewMCPServer("understudy", "test", server.WithToolCapabilities(false), server.WithPromptCapabilities(false), server.WithInstructions(o.Instructions()))
	Register(s, m, o)
	c, _ := connectTo(t, s, name, options...)
	return c
}

// connectTo returns a client of a server, and its notifications.
func connectTo(t *testing.T, s *server.MCPServer, name string, options ...client.ClientOption) (*client.Client, chan mcp.JSONRPCNotification) {
	t.Helper()
	c, err := client.NewInProcessClientWithOptions(s, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	notifications := make(chan mcp.JSONRPCNotification, 1000)
	c.OnNotification(func(n mcp.JSONRPCNotification) { notifications <- n })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	return c, notifications
}

// call calls a tool with arguments written as JSON.
func call(t *testing.T, c *client.Client, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	var request mcp.CallToolRequest
	request.Params.Name = tool
	request.Params.Arguments = json.RawMessage(arguments)
	result, err := c.CallTool(t.Context(), request)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return result
}

// text returns the one text of an answer, its first content.
func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	for i, content := range r.Content {
		if _, isText := mcp.AsTextContent(content); isText != (i == 0) {
			t.Fatalf("content %d of %d is a %T: want one text, and it first", i, len(r.Content), content)
		}
	}
	first, _ := mcp.AsTextContent(r.Content[0])
	return first.Text
}

// id is the interpreter of every result.
const id = "7f3a9c"

func ok() sessions.Result {
	return sessions.Result{InterpreterID: id, Execution: 3, Status: sessions.StatusOK, Success: true, ExecTime: 0.0031, TimeLimit: 3600}
}

// example is a result that is ok but for what change says.
func example(change func(*sessions.Result)) *sessions.Result {
	r := ok()
	change(&r)
	r.Success = r.Status == sessions.StatusOK
	return &r
}

func exit(code int) *int { return &code }

// update rewrites the committed schemas.
var update = flag.Bool("update", false, "rewrite schemas/*.json")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must, expect = says.Must, says.Expect

// errOf is the error alone of what a call returned.
func errOf[T any](_ T, err error) error { return err }

func same(t *testing.T, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
