package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/auth"
	"understudy/internal/transport"
)

// realPod serves MCP as understudy serve does, with tools that wait for their end and that
// ask the client's user.
func realPod(t *testing.T, l net.Listener, gate *auth.Gate, began chan<- string) {
	s := server.NewMCPServer("pod", "1", server.WithElicitation())
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- transport.CallerFrom(ctx).Client
		<-ctx.Done()
		return mcp.NewToolResultText("it was cancelled"), nil
	})
	s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := server.ServerFromContext(ctx).RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
			Message: "Your name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(fmt.Sprint("answered ", result.Content)), nil
	})
	pod := transport.NewHTTP(s, transport.HTTPOptions{
		Streamable: true, SSE: true, Authenticator: gate, Headers: map[string]string{auth.HeaderInstance: gate.Tenant.Instance()},
		StopGrace: time.Millisecond,
	})
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error)
	go func() { over <- pod.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
}

// calling is a call of one of the tools above.
func calling(id int, tool, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, id, tool, text)
}

// open sends a request whose answer is read as it comes.
func (g *testGateway) open(t *testing.T, method, path, principal, body string, headers ...string) (*bufio.Reader, func()) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(body))
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+principal)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r) //nolint:bodyclose // the caller does
	must(t, err)
	insist(t, response.StatusCode < 300, "%s %s: %s", method, path, response.Status)
	return bufio.NewReader(response.Body), func() { _ = response.Body.Close() }
}

// until reads lines until one matches, and returns what the pattern has in brackets.
func until(t *testing.T, lines *bufio.Reader, pattern string) string {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if found := regexp.MustCompile(pattern).FindStringSubmatch(line); found != nil {
			return found[1]
		}
		must(t, err)
	}
}

// TestBothErasAndSSE through a gateway, to servers such as pods have.
func TestBothErasAndSSE(t *testing.T) {
	for _, perSession := range []bool{false, true} {
		t.Run(fmt.Sprint("a pod per session: ", perSession), func(t *testing.T) {
			c := newCluster(t)
			began := make(chan string, 10)
			c.real = func(l net.Listener, gate *auth.Gate) { realPod(t, l, gate, began) }
			g := c.gateway(func(o *Options) { o.PerSession = perSession })
			session := g.says(t, `"result"`, "alice", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`).Header.Get("Mcp-Session-Id")
			in := []string{"Mcp-Session-Id", session}

			g.says(t, "hello", "alice", calling(2, "echo", "hello"), in...)
			_, text, err := g.post(t.Context(), "alice", "["+calling(3, "echo", "one")+","+calling(4, "echo", "two")+"]", in...)
			expect(t, err == nil && strings.Count(text, `"result"`) == 2 && strings.HasPrefix(text, "["), "a batch: %v, %s", err, text)

			answer, end := g.open(t, http.MethodPost, "/mcp", "alice", calling(5, "ask", ""), in...)
			id := until(t, answer, `"id":(\d+),.*elicitation/create`)
			_, _, err = g.post(t.Context(), "alice", `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{"name":"Ann"}}}`, in...)
			must(t, err)
			until(t, answer, `(answered map\[name:Ann\])`)
			end()

			waiting := make(chan string)
			go func() {
				_, text, _ := g.post(context.Background(), "alice", calling(6, "wait", ""), in...)
				waiting <- text
			}()
			<-began
			_, _, err = g.post(t.Context(), "alice", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`, in...)
			must(t, err)
			text = <-waiting
			expect(t, !strings.Contains(text, "is not known"), "%s", text)

			stream, leave := g.open(t, http.MethodGet, "/sse", "alice", "")
			endpoint := until(t, stream, `^data: (/message\S+)`)
			taken, done := g.open(t, http.MethodPost, endpoint, "alice", calling(7, "echo", "over SSE"))
			_, _ = io.Copy(io.Discard, taken)
			done()
			until(t, stream, `"id":7.*(over SSE)`)
			_, _ = g.open(t, http.MethodPost, endpoint, "alice", calling(8, "wait", ""))
			expect(t, <-began == "principal:alice", "another's call")
			leave()

			modern := strings.Replace(calling(9, "echo", "modern"), `"arguments"`,
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"arguments"`, 1)
			g.says(t, "modern", "alice", modern, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo", "Understudy-Client", "bob", "Understudy-Claim", "x")

			_, done = g.open(t, http.MethodDelete, "/mcp", "alice", "", in...)
			done()
			response, _, err := g.post(t.Context(), "alice", calling(10, "echo", "x"), in...)
			expect(t, err == nil && response.StatusCode == http.StatusNotFound, "after a goodbye: %v, %s", err, response.Status)
			response, _, err = g.post(t.Context(), "bob", calling(11, "echo", "x"), in...)
			expect(t, err == nil && response.StatusCode == http.StatusNotFound, "another's session: %v, %s", err, response.Status)
		})
	}
}
