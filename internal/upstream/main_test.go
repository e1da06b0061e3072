package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// roleVariable has the test binary be a server, of that kind.
const roleVariable = "UNDERSTUDY_TEST_UPSTREAM"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if role == "good" {
			_ = mcpserver.ServeStdio(goodServer())
		} else {
			(&hostile{role: role, out: os.Stdout}).serve()
		}
		os.Exit(0)
	}
	// mcp-go's SSE server, in tests, goes on serving a subscription when its client has gone.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/mark3labs/mcp-go/server.(*MCPServer).handleSubscriptionsListen"))
}

// goodServer is as servers are.
func goodServer() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("good", "1", mcpserver.WithToolCapabilities(true), mcpserver.WithResourceCapabilities(false, false), mcpserver.WithInstructions("Be nice."), mcpserver.WithTitle("Good things"))
	text := func(t string) mcpserver.ToolHandlerFunc {
		return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(t), nil
		}
	}
	s.AddTool(mcp.NewTool("find", mcp.WithDescription("Finds issues by words.\nMore."), mcp.WithReadOnlyHintAnnotation(true), mcp.WithString("words", mcp.Required()), mcp.WithNumber("limit")),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(map[string]any{"args": r.GetArguments()}, "found"), nil
		})
	s.AddTool(mcp.NewTool("create", mcp.WithDescription("Makes an issue.")), text("made"))
	s.AddTool(mcp.NewTool("picture", mcp.WithReadOnlyHintAnnotation(true)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultImage("a picture", "iVBORw==", "image/png"), nil
	})
	s.AddTool(mcp.NewTool("fail", mcp.WithReadOnlyHintAnnotation(true)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("no luck"), nil
	})
	s.AddTool(mcp.NewTool("grow", mcp.WithReadOnlyHintAnnotation(true)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("grown"), text("new"))
		return mcp.NewToolResultText("ok"), nil
	})
	s.AddTool(mcp.NewTool("die", mcp.WithReadOnlyHintAnnotation(true)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "Bearer s3cret-token is wrong")
		os.Exit(3)
		return nil, nil
	})
	s.AddTool(mcp.NewTool("environment", mcp.WithReadOnlyHintAnnotation(true)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("KEY=" + os.Getenv("KEY") + " HEARD=" + filepath.Base(os.Getenv("HEARD"))), nil
	})
	s.AddResource(mcp.NewResource("test://a", "a"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "test://a", MIMEType: "text/plain", Text: "content"}}, nil
	})
	return s
}

// hostile is a server that keeps to no rule but that of lines of JSON.
type hostile struct {
	role string
	mu   sync.Mutex
	out  *os.File
}

func (h *hostile) serve() {
	if h.role == "deaf" {
		time.Sleep(time.Hour)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && h.role != "mute" {
			h.hear(m.ID, m.Method, m.Params.Name)
		}
	}
}

func (h *hostile) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.out.WriteString(text + "\n")
}

func (h *hostile) hear(id any, method, tool string) {
	answer := func(result string) { h.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, id, result)) }
	switch method {
	case "initialize":
		if h.role == "garbage" {
			for range 2000 {
				h.say(`{"garbage": [`)
				fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 100))
			}
			h.say(`{"jsonrpc":"2.0","id":99,"result":{}}`)
		}
		answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"h","version":"1"}}`)
	case "tools/list":
		answer(h.tools())
	case "tools/call":
		switch h.role {
		case "huge":
			answer(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 100<<20) + `"}]}`)
		case "silent":
			// nothing, ever
		case "odd":
			answer(`{"content":[{"type":"hologram"},7]}`)
		default:
			answer(`{"content":[{"type":"text","text":"ok"}]}`)
		}
	case "notifications/cancelled":
		_ = os.WriteFile(os.Getenv("HEARD"), []byte("cancelled"), 0o600)
	case "server/discover":
		h.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":-32601,"message":"no"}}`, id))
	}
}

func (h *hostile) tools() string {
	one := func(name, schema string) string {
		return fmt.Sprintf(`{"name":%q,"annotations":{"readOnlyHint":true},"inputSchema":%s}`, name, schema)
	}
	const object = `{"type":"object"}`
	switch h.role {
	case "names":
		var all []string
		for _, name := range []string{"class", "__class__", "import", "1st", "a-b", "a.b", "a b", "", "😀", "servers", "None", strings.Repeat("x", 300)} {
			all = append(all, one(name, object))
		}
		return `{"tools":[` + strings.Join(all, ",") + `]}`
	case "endless":
		var all []string
		for i := range 500 {
			all = append(all, one(fmt.Sprintf("t%d_%d", i, time.Now().UnixNano()), object))
		}
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, strings.Join(all, ","), time.Now().UnixNano())
	case "schemas":
		return `{"tools":[` + strings.Join([]string{
			one("recursive", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"},"b":{"$ref":"#"}}}`),
			one("remote", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x.json"}}}`),
			one("file", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`),
			one("broken", `{"type":"object","properties":{"a":{"type":"nonsense","pattern":"("}}}`),
			one("long", `{"type":"object","properties":{"a":{"type":"string","description":"`+strings.Repeat("x", 3<<20)+`"}}}`),
		}, ",") + `]}`
	}
	return `{"tools":[` + one("t", object) + `]}`
}

// opened opens servers of these roles, by the name of the role.
func opened(t *testing.T, change func(*Options), roles ...string) *Servers {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	block := map[string]any{}
	for _, role := range roles {
		block[role] = map[string]any{"command": self, "env": map[string]string{roleVariable: role, "HEARD": filepath.Join(t.TempDir(), "heard"), "KEY": "s3cret-token"}}
	}
	return openedWith(t, change, block)
}

func openedWith(t *testing.T, change func(*Options), block map[string]any) *Servers {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": block})
	must(t, err)
	o := Options{File: filepath.Join(t.TempDir(), "servers.json"), Logger: slog.New(slog.DiscardHandler)}
	must(t, os.WriteFile(o.File, text, 0o600))
	if change != nil {
		change(&o)
	}
	s, err := Open(o)
	must(t, err)
	t.Cleanup(s.Close)
	s.Ready(t.Context())
	return s
}

func call(t *testing.T, s *Servers, server, tool, arguments string) (string, *sessions.ToolRefusal) {
	t.Helper()
	return ask1(t.Context(), t, s, sessions.ToolRequest{Op: sessions.ToolCall, Server: server, Name: tool, Arguments: json.RawMessage(arguments)})
}

func ask1(ctx context.Context, t *testing.T, s *Servers, r sessions.ToolRequest) (string, *sessions.ToolRefusal) {
	t.Helper()
	answer, err := s.Answer(ctx, r)
	if err == nil {
		return string(answer.Body), nil
	}
	refusal, ok := err.(*sessions.ToolRefusal)
	insist(t, ok, "%v is no refusal", err)
	return "", refusal
}

// eventually waits until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		insist(t, time.Now().Before(deadline), "not yet: %s", what)
	}
}

// log is what was logged, for several goroutines.
type log struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}
