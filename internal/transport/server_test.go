package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// patient is how long a test waits for what must happen.
const patient = time.Minute

// tools are those of a server that tests look into.
type tools struct {
	mu     sync.Mutex
	notes  map[string]string // by client
	ran    atomic.Int64
	began  chan Caller   // of each call to wait
	ended  chan error    // why its context ended
	finish chan struct{} // lets calls to wait end by themselves
}

func newTools() *tools {
	return &tools{
		notes: map[string]string{}, began: make(chan Caller, 1000), ended: make(chan error, 1000),
		finish: make(chan struct{}, 1000),
	}
}

// server has the tools.
//   - remember adds a word to what its client has said, and returns all of it.
//   - wait runs until it is told to finish or its context ends.
//   - count notifies of its progress, right until it returns.
//   - large returns as many bytes as it is asked for.
//   - ask asks the client's user.
//   - who says who calls: its client and the conversation.
//   - where says where the call comes from.
func (tl *tools) server() *server.MCPServer {
	s := server.NewMCPServer("test", "1", server.WithResourceCapabilities(true, true), server.WithElicitation())
	s.AddTool(mcp.NewTool("remember", mcp.WithString("word")), tl.remember)
	s.AddTool(mcp.NewTool("wait"), tl.wait)
	s.AddTool(mcp.NewTool("count", mcp.WithNumber("to"), mcp.WithString("name")), tl.count)
	s.AddTool(mcp.NewTool("large", mcp.WithNumber("bytes")), tl.large)
	s.AddTool(mcp.NewTool("ask"), tl.ask)
	s.AddTool(mcp.NewTool("who"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := CallerFrom(ctx)
		return mcp.NewToolResultText(c.Client + "|" + c.Conversation), nil
	})
	s.AddTool(mcp.NewTool("where"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(Origin(ctx)), nil
	})
	return s
}

func (tl *tools) remember(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	tl.ran.Add(1)
	tl.mu.Lock()
	defer tl.mu.Unlock()
	client := CallerFrom(ctx).Client
	tl.notes[client] += r.GetString("word", "")
	return mcp.NewToolResultText(tl.notes[client]), nil
}

func (tl *tools) wait(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	tl.ran.Add(1)
	tl.began <- CallerFrom(ctx)
	select {
	case <-tl.finish:
		return mcp.NewToolResultText("finished"), nil
	case <-ctx.Done():
		tl.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

func (tl *tools) count(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	tl.ran.Add(1)
	for i := range r.GetInt("to", 0) {
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress",
			map[string]any{"progressToken": r.GetString("name", ""), "progress": i + 1})
		if err != nil {
			return nil, err
		}
	}
	return mcp.NewToolResultText(r.GetString("name", "")), nil
}

func (tl *tools) large(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(strings.Repeat("x", r.GetInt("bytes", 0))), nil
}

func (tl *tools) ask(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	result, err := server.ServerFromContext(ctx).RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
		Message: "Your name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
	}})
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(fmt.Sprint(result.Action, result.Content)), nil
}

// house is a server that listens.
type house struct {
	*HTTP
	tools *tools
	addr  string
	stop  func()
	over  chan error
	http  http.Client
}

// open serves with the options, to which it adds what they leave open, until
// the test ends.
func open(t testing.TB, options HTTPOptions) *house {
	t.Helper()
	tl := newTools()
	return serving(t, listen(t, "tcp", "127.0.0.1:0"), tl, tl.server(), options)
}

func listen(t testing.TB, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	must(t, err)
	return l
}

// serving is open for a server of the test's own.
func serving(t testing.TB, l net.Listener, tl *tools, s *server.MCPServer, options HTTPOptions) *house {
	t.Helper()
	if !options.Streamable && !options.SSE {
		options.Streamable, options.SSE = true, true
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &house{tools: tl, addr: l.Addr().String(), stop: stop, over: make(chan error, 1)}
	h.http.Transport = &http.Transport{MaxIdleConnsPerHost: 1000}
	h.HTTP = NewHTTP(s, options)
	go func() { h.over <- h.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		err := soon(t, h.over)
		expect(t, err == nil, "serving ended with %v", err)
		h.over <- nil
		h.http.CloseIdleConnections()
	})
	return h
}

// soon receives what must come.
func soon[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patient):
		t.Fatal("what was waited for did not come")
		panic("unreachable")
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patient); !holds(); time.Sleep(time.Millisecond) {
		insist(t, !time.Now().After(deadline), "not seen in %s: %s", patient, what)
	}
}

// request is one that a test sends as it is.
type request struct {
	method, path, host, body string
	header                   map[string]string
}

// with returns a copy with more headers; "" removes one.
func (q request) with(pairs ...string) request {
	header := map[string]string{}
	for name, value := range q.header {
		header[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = pairs[i+1]
	}
	q.header = header
	return q
}

// reply is an answer without its body.
type reply struct {
	Status     string
	StatusCode int
	Header     http.Header
}

// send sends it and returns the answer with its body.
func (h *house) send(t testing.TB, q request) (reply, string) {
	t.Helper()
	response := h.begin(context.Background(), t, q)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return reply{response.Status, response.StatusCode, response.Header}, string(body)
}

// answers expects a status, and returns the whole answer.
func (h *house) answers(t testing.TB, what string, q request, status int) (reply, string) {
	t.Helper()
	response, body := h.send(t, q)
	expect(t, response.StatusCode == status, "%s: %s %s", what, response.Status, body)
	return response, body
}

// later sends it, and returns where the answer's body comes.
func (h *house) later(t testing.TB, q request) <-chan string {
	answered := make(chan string, 1)
	go func() {
		_, body := h.send(t, q)
		answered <- body
	}()
	return answered
}

// begin sends it and returns the answer as soon as it begins.
func (h *house) begin(ctx context.Context, t testing.TB, q request) *http.Response {
	t.Helper()
	response, err := h.try(ctx, q)
	must(t, err)
	return response
}

// follow sends it and reads the events that come back.
func (h *house) follow(ctx context.Context, t testing.TB, q request) (*events, reply) {
	t.Helper()
	response := h.begin(ctx, t, q) //nolint:bodyclose // the events' cleanup does
	return readEvents(t, response.Body), reply{response.Status, response.StatusCode, response.Header}
}

func (h *house) try(ctx context.Context, q request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, "http://"+h.addr, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	r.URL.Opaque = q.path                // as it is, however odd
	if strings.HasPrefix(q.path, "//") { // which would name a host
		r.URL.Opaque = "//" + h.addr + q.path
	}
	if q.host != "" {
		r.Host = q.host
	}
	for name, value := range q.header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return h.http.Do(r)
}

// The eras, by a version of each.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// post is a message over streamable HTTP.
func post(body string) request {
	return request{method: "POST", path: StreamablePath, body: body, header: map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	}}
}

// calling is a call of a tool.
func calling(id int, tool, arguments string) string {
	if arguments == "" {
		arguments = "{}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// inModern turns a message over HTTP into one of the newest era.
func inModern(t testing.TB, q request) request {
	t.Helper()
	var m map[string]any
	must(t, json.Unmarshal([]byte(q.body), &m))
	params, _ := m["params"].(map[string]any)
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	m["params"] = params
	body, err := json.Marshal(m)
	must(t, err)
	q.body = string(body)
	q = q.with("Mcp-Protocol-Version", modern, "Mcp-Method", m["method"].(string))
	if name, ok := params["name"].(string); ok {
		q = q.with("Mcp-Name", name)
	}
	return q
}

// listening is a request of the newest era to be told of changes.
func listening(t testing.TB, id int) request {
	t.Helper()
	return inModern(t, post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://one"]}}}`, id)))
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`

// session opens a session of an older era and returns its id.
func (h *house) session(t testing.TB, headers ...string) string {
	t.Helper()
	response, body := h.send(t, post(initialize).with(headers...))
	id := response.Header.Get(mcpSession)
	insist(t, response.StatusCode == http.StatusOK && id != "", "initialize: %s %s", response.Status, body)
	return id
}

// events reads a stream of events.
type events struct {
	t    testing.TB
	body io.ReadCloser
	all  chan string // the data of each event; closed at its end
}

func readEvents(t testing.TB, body io.ReadCloser) *events {
	e := &events{t: t, body: body, all: make(chan string, 10_000)}
	go func() {
		defer close(e.all)
		var text strings.Builder
		for buffer := make([]byte, 64<<10); ; {
			n, err := body.Read(buffer)
			text.Write(buffer[:n])
			for {
				event, rest, whole := strings.Cut(text.String(), "\n\n")
				if !whole {
					break
				}
				text.Reset()
				text.WriteString(rest)
				if _, data, ok := strings.Cut(event, "data: "); ok {
					e.all <- data
				} else if event == ":" {
					e.all <- ":"
				}
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = body.Close()
		for range e.all {
		}
	})
	return e
}

// next returns the next event that is no comment, "" at the end.
func (e *events) next() string {
	e.t.Helper()
	for {
		if event := soon(e.t, e.all); event != ":" {
			return event
		}
	}
}

// stream opens an SSE stream and returns it and the path for messages.
func (h *house) stream(ctx context.Context, t testing.TB, headers ...string) (*events, request) {
	t.Helper()
	e, response := h.follow(ctx, t, request{method: "GET", path: SSEPath}.with(headers...))
	insist(t, response.StatusCode == http.StatusOK, "%v", response.Status)
	messages := post("").with(headers...)
	messages.path = e.next()
	return e, messages
}

func (q request) saying(body string) request {
	q.body = body
	return q
}

// textOf is the text of a tool's answer, or of the error.
func textOf(t testing.TB, body string) string {
	t.Helper()
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
		Error *rpcError
	}
	err := json.Unmarshal([]byte(body), &m)
	insist(t, err == nil, "%v in %q", err, body)
	if m.Error != nil {
		return "error: " + m.Error.Message
	}
	insist(t, len(m.Result.Content) == 1, "no text in %q", body)
	return m.Result.Content[0].Text
}

// names lets in who says a name.
type names struct{}

func (names) Authenticate(r *http.Request) (string, error) {
	switch name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); name {
	case "", "wrong":
		return "", refusal(http.StatusUnauthorized)
	case "poor":
		return "", refusal(http.StatusForbidden)
	case "broken":
		return "", errors.New("the file of names is gone")
	default:
		return name, nil
	}
}

type refusal int

func (refusal) Error() string     { return "a token is needed" }
func (r refusal) Status() int     { return int(r) }
func (refusal) Challenge() string { return `Bearer realm="test"` }
