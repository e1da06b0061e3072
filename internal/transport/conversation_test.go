package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// linesClient is a client whose messages are lines.
type linesClient struct {
	t     testing.TB
	tools *tools
	in    *io.PipeWriter
	all   chan string // what it is told, line by line; closed at the end
	over  chan error
}

// converseWith opens a connection with the server, which is told where to end.
func converseWith(t testing.TB, tl *tools, s *server.MCPServer, serve func(context.Context, *server.MCPServer, io.Reader, io.Writer) error) *linesClient {
	t.Helper()
	reader, in := io.Pipe()
	out, writer := io.Pipe()
	c := &linesClient{t: t, tools: tl, in: in, all: make(chan string, 10_000), over: make(chan error, 1)}
	go func() {
		c.over <- serve(context.Background(), s, reader, writer)
		_ = writer.Close()
	}()
	go func() {
		defer close(c.all)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			c.all <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		err := soon(t, c.over)
		expect(t, err == nil, "serving ended with %v", err)
		c.over <- nil
	})
	return c
}

func stdio(t testing.TB) *linesClient {
	tl := newTools()
	return converseWith(t, tl, tl.server(), serveStdio)
}

func serveStdio(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer) error {
	return ServeStdio(ctx, s, in, out, slog.New(slog.DiscardHandler))
}

func (c *linesClient) say(lines ...string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n")
	must(c.t, err)
}

func (c *linesClient) next() string {
	c.t.Helper()
	return soon(c.t, c.all)
}

// agree agrees on a version of the protocol.
func (c *linesClient) agree(version string) {
	c.t.Helper()
	c.say(strings.Replace(initialize, legacy, version, 1), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	answer := c.next()
	insist(c.t, strings.Contains(answer, version), "%v", answer)
}

func cancelling(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

// TestACancelBehindItsCall is obeyed each time, though both come in one write, and what is
// cancelled gets no answer.
func TestACancelBehindItsCall(t *testing.T) {
	for _, era := range []string{legacy, modern} {
		c := stdio(t)
		if era == legacy {
			c.agree(legacy)
		}
		for id := range 1000 {
			call := calling(id, "wait", "")
			if era == modern {
				call = inModern(t, post(call)).body
			}
			c.say(call, cancelling(fmt.Sprint(id)))
			soon(t, c.tools.began)
			err := soon(t, c.tools.ended)
			expect(t, err == context.Canceled, "%v", err)
		}
		c.say(calling(7777, "remember", ""))
		answer := c.next()
		expect(t, strings.Contains(answer, `"id":7777`), "%s: %s", era, answer)
	}
}

// TestMoreCallsThanWorkers: calls that wait keep nobody from being cancelled, and
// too many are refused, not queued.
func TestMoreCallsThanWorkers(t *testing.T) {
	c := stdio(t)
	for id := range mostInflight {
		c.say(calling(id, "wait", ""))
	}
	for range mostInflight {
		soon(t, c.tools.began)
	}
	c.say(calling(mostInflight, "wait", ""))
	answer := c.next()
	expect(t, strings.Contains(answer, fmt.Sprintf(`"id":%d`, mostInflight)) && strings.Contains(answer, "the limit"), "%v", answer)
	c.say(cancelling("0"))
	soon(t, c.tools.ended)
}

// TestWhatIsNoMessage is answered with the code of JSON-RPC, and nothing ends.
func TestWhatIsNoMessage(t *testing.T) {
	c := stdio(t)
	for line, code := range map[string]int{
		"nonsense": mcp.PARSE_ERROR, "[": mcp.PARSE_ERROR, `{"jsonrpc":"2.0","id":1,"method":"ping"`: mcp.PARSE_ERROR,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:   mcp.INVALID_REQUEST,
		`{"jsonrpc":"2.0","id":[1],"method":"ping"}`:  mcp.INVALID_REQUEST,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`: mcp.INVALID_REQUEST,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`: mcp.INVALID_REQUEST,
		`{"jsonrpc":"2.0"}`:                           mcp.INVALID_REQUEST,
		`{"id":1,"method":"ping"}`:                    mcp.INVALID_REQUEST,
		`7`:                                           mcp.INVALID_REQUEST,
		`[]`:                                          mcp.INVALID_REQUEST,
	} {
		c.say(line)
		text := c.next()
		expect(t, codeIn(t, text) == code, "%s: %s", line, text)
	}
	c.say("", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`, pinging)
	answer := c.next()
	expect(t, strings.Contains(answer, `"id":7,"result"`), "an answer was answered: %s", answer)
}

func codeIn(t testing.TB, text string) int {
	t.Helper()
	var answer struct{ Error struct{ Code int } }
	err := json.Unmarshal([]byte(text), &answer)
	insist(t, err == nil, "%q: %v", text, err)
	return answer.Error.Code
}

// TestBatches: the version that has them gets one answer to all; others a reason.
func TestBatches(t *testing.T) {
	const cancelled = 3
	batch := "[" + strings.Join([]string{
		calling(1, "remember", `{"word":"a"}`), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"id":{}}`,
		calling(cancelled, "wait", ""), cancelling(fmt.Sprint(cancelled)), `{"jsonrpc":"2.0","id":"last","method":"ping"}`,
	}, ",") + "]"
	for _, version := range mcp.ValidProtocolVersions[1:] {
		c := stdio(t)
		c.agree(version)
		c.say(batch)
		text := c.next()
		if version != mcp.ProtocolVersion20250326 {
			expect(t, codeIn(t, text) == mcp.INVALID_REQUEST && strings.Contains(text, version) && c.tools.ran.Load() <= 0, "%s: %s", version, text)
			continue
		}
		var answers []struct {
			ID    any
			Error any
		}
		if err := json.Unmarshal([]byte(text), &answers); err != nil || len(answers) != 3 ||
			answers[0].ID != 1.0 || answers[1].Error == nil || answers[2].ID != "last" {
			t.Errorf("%s: %s", version, text)
		}
		c.say(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, pinging)
		if text := c.next(); !strings.Contains(text, `"id":7`) {
			t.Errorf("a batch without a request was answered: %s", text)
		}
	}
}

// TestConnectionsOfOneProcess: each is a client with a session, a user and roots of
// its own, and the end of one is not that of another.
func TestConnectionsOfOneProcess(t *testing.T) {
	tl := newTools()
	s := tl.server()
	s.AddTool(mcp.NewTool("roots"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		roots, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(fmt.Sprint(roots.Roots)), nil
	})
	connect := func(name string) *linesClient {
		return converseWith(t, tl, s, func(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer) error {
			return ServeLines(ctx, s, in, out, Caller{Client: name}, slog.New(slog.DiscardHandler))
		})
	}
	ann, bob := connect("ann"), connect("bob")
	ann.agree(legacy)
	bob.agree(legacy)
	ann.say(calling(1, "remember", `{"word":"a"}`))
	text := textOf(t, ann.next())
	expect(t, text == "a", "%v", text)
	bob.say(calling(1, "remember", `{"word":"b"}`))
	if text := textOf(t, bob.next()); text != "b" {
		t.Errorf("two connections are one client: %s", text)
	}

	ann.say(calling(2, "ask", ""))
	question := ann.next()
	bob.say(calling(2, "roots", ""))
	asked := bob.next()
	expect(t, strings.Contains(asked, `"id":1,"method":"roots/list"`), "%v", asked)
	ann.say(answering(t, question))
	if text := textOf(t, ann.next()); text != "acceptmap[name:Ann]" {
		t.Error(text)
	}
	bob.say(`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///home/bob"}]}}`)
	if text := textOf(t, bob.next()); !strings.Contains(text, "file:///home/bob") {
		t.Error(text)
	}

	for _, c := range []*linesClient{ann, bob} {
		c.say(calling(3, "wait", ""))
		soon(t, tl.began)
	}
	bob.say(cancelling("3"))
	if err := soon(t, tl.ended); err != context.Canceled {
		t.Error(err)
	}
	_ = ann.in.Close()
	if err := soon(t, tl.ended); !errors.Is(err, errDropped) {
		t.Errorf("a lost connection is taken for a wish to cancel: %v", err)
	}
	bob.say(pinging)
	if text := bob.next(); !strings.Contains(text, `"id":7`) {
		t.Errorf("the end of one connection is that of another: %s", text)
	}
}

// TestListening: a subscription of the newest era is acknowledged, told of changes,
// and ends without an answer when its client cancels it.
func TestListening(t *testing.T) {
	tl := newTools()
	s := tl.server()
	sessions := make(chan server.ClientSession, 1)
	hooks := &server.Hooks{}
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest) {
		sessions <- server.ClientSessionFromContext(ctx)
	})
	server.WithHooks(hooks)(s)
	c := converseWith(t, tl, s, serveStdio)
	c.say(listening(t, 1).body)
	text := c.next()
	expect(t, strings.Contains(text, "acknowledged"), "%v", text)
	soon(t, sessions).NotificationChannel() <- mcp.JSONRPCNotification{JSONRPC: "2.0", Notification: mcp.Notification{Method: "test/changed"}}
	if text := c.next(); !strings.Contains(text, "test/changed") {
		t.Error(text)
	}
	c.say(cancelling("1"), inModern(t, post(`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{}}`)).body)
	if text := c.next(); !strings.Contains(text, `"id":2`) {
		t.Errorf("a cancelled subscription was answered: %s", text)
	}
	c.say(listening(t, 3).body)
	if text := c.next(); !strings.Contains(text, "acknowledged") {
		t.Error(text)
	}
	soon(t, sessions)
	_ = c.in.Close() // the server ends it, and says so
	if text := c.next(); !strings.Contains(text, `"id":3`) {
		t.Error(text)
	}
}
