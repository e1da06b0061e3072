package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"understudy/internal/check"
	"understudy/sessions"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// TestMain is an upstream server too, where a test says so in its environment.
func TestMain(m *testing.M) {
	switch kind := os.Getenv("UPSTREAM_TEST_SERVER"); kind {
	case "":
		// mcp-go's server, which is in this process over SSE, may miss a cancellation.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/mark3labs/mcp-go/server.(*MCPServer).handleSubscriptionsListen"))
	case "honest":
		_ = mcpserver.ServeStdio(honest())
	case "doomed":
		doomed()
	default:
		hostile(kind)
	}
}

// honest is a server as others write them.
func honest() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("honest", "1", mcpserver.WithToolCapabilities(true), mcpserver.WithInstructions("Adds numbers.\nAnd more."))
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("Adds two numbers."), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithNumber("first", mcp.Required()), mcp.WithNumber("second", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(map[string]any{"sum": r.GetFloat("first", 0) + r.GetFloat("second", 0)}, "done"), nil
		})
	s.AddTool(mcp.NewTool("delete-all", mcp.WithDescription("Deletes\x1b[2J all.\nReally.")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("nothing is there"), nil
	})
	s.AddTool(mcp.NewTool("picture"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			mcp.NewImageContent("cGl4ZWxz", "image/png"), mcp.NewResourceLink("x://1", "one", "the first", "text/plain"),
			mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "x://2", MIMEType: "text/plain", Text: "two"}),
		}}, nil
	})
	s.AddTool(mcp.NewTool("environ"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Join(os.Environ(), "\n")), nil
	})
	s.AddTool(mcp.NewTool("wait", mcp.WithString("file")), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		file := r.GetString("file", "")
		_ = os.WriteFile(file, []byte("begun"), 0o600)
		<-ctx.Done()
		_ = os.WriteFile(file, []byte("cancelled"), 0o600)
		return mcp.NewToolResultText("late"), nil
	})
	s.AddTool(mcp.NewTool("grow"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("grown"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("new"), nil
		})
		return mcp.NewToolResultText("grown"), nil
	})
	s.AddResource(mcp.NewResource("x://text", "text"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "x://text", MIMEType: "text/plain", Text: "hello"},
			mcp.BlobResourceContents{URI: "x://blob", Blob: "Ynl0ZXM="}}, nil
	})
	return s
}

// stdioServers opens this test binary as servers, by the kinds of TestMain.
func stdioServers(t *testing.T, o Options, kinds ...string) *Servers {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	servers := map[string]any{}
	for _, kind := range kinds {
		servers[kind] = map[string]any{"command": self, "env": map[string]string{"UPSTREAM_TEST_SERVER": kind, "API_TOKEN": "sesame-open-12345", "DIRECTORY": "/data/projects"}}
	}
	return openServers(t, o, servers)
}

func openServers(t *testing.T, o Options, servers map[string]any) *Servers {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	must(t, err)
	o.File = writeFile(t, string(text))
	s, err := Open(o)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// soon ends a test that would wait for ever.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// until waits for what a server's changes bring.
func until(t *testing.T, s *Servers, so func() bool) {
	t.Helper()
	changed := make(chan struct{}, 1)
	s.OnChange(func() { signal(changed) })
	ctx := soon(t)
	for !so() {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("it never came; states are %+v", s.States())
		}
	}
}

type reply struct {
	IsError    bool            `json:"is_error"`
	Structured json.RawMessage `json:"structured"`
	Content    []struct {
		Type, Text, URI string
		Attachment      *int
	} `json:"content"`
}

func callTool(ctx context.Context, t *testing.T, s *Servers, server, tool, arguments string) (reply, *sessions.ToolAnswer, error) {
	t.Helper()
	answer, err := s.Answer(ctx, sessions.ToolRequest{Op: sessions.ToolCall, Server: server, Name: tool, Arguments: json.RawMessage(arguments)})
	var r reply
	if err == nil {
		must(t, json.Unmarshal(answer.Body, &r))
	}
	return r, answer, err
}

// refused ends the test unless an error is a refusal of the kind with these words.
func refused(t *testing.T, err error, kind sessions.RefusalKind, words ...string) {
	t.Helper()
	var refusal *sessions.ToolRefusal
	insist(t, errors.As(err, &refusal), "error is %v, not a refusal", err)
	expect(t, refusal.Kind == kind, "the refusal is %s: %s; not %s", refusal.Kind, refusal.Message, kind)
	for _, word := range words {
		expect(t, strings.Contains(refusal.Message, word), "the refusal does not say %q: %s", word, refusal.Message)
	}
}

// A logged is what a logger wrote.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
