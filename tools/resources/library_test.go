package resources

import (
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

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
	"understudy/tools"
	"understudy/tools/answer"
)

// scripted starts workers whose code is a list of lines: "figure NAME TEXT" shows
// a figure, "artifact NAME TEXT" keeps one, "more" prints a line each time the channel gives one, until it is
// closed, and any other line is printed.
type scripted struct{ more chan string }

func (s scripted) ForkObstacle() string { return "there is only one" }
func (s scripted) Start(_ context.Context, spec sessions.Spec) (sessions.Worker, error) {
	return &scriptedWorker{script: s, dir: spec.PrivateDir, exited: make(chan struct{})}, nil
}

type scriptedWorker struct {
	script scripted
	dir    string
	once   sync.Once
	exited chan struct{}
}

func (w *scriptedWorker) Run(_ context.Context, r sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
	for line := range strings.Lines(r.Code) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "figure":
			path := filepath.Join(w.dir, words[1])
			if err := os.WriteFile(path, []byte(words[2]), 0o600); err != nil {
				return sessions.Outcome{}, err
			}
			sink.Figure(sessions.Figure{Path: path, MIMEType: "image/png", Width: 4, Height: 3, Title: "Title of " + words[1]})
		case len(words) == 3 && words[0] == "artifact":
			path := filepath.Join(w.dir, words[1])
			if err := os.WriteFile(path, []byte(words[2]), 0o600); err != nil {
				return sessions.Outcome{}, err
			}
			sink.Artifact(sessions.Artifact{
				Name: words[1], Kind: "txt", Path: path, MIMEType: "text/markdown", Size: int64(len(words[2])), Preview: words[2],
			})
		case len(words) == 1 && words[0] == "more":
			w.relay(sink)
		default:
			sink.Output(sessions.Stdout, []byte(line))
		}
	}
	return sessions.Outcome{OK: true}, nil
}

func (w *scriptedWorker) relay(sink sessions.Sink) {
	for {
		select {
		case line, open := <-w.script.more:
			if !open {
				return
			}
			sink.Output(sessions.Stdout, []byte(line+"\n"))
		case <-w.exited:
			return
		}
	}
}

func (w *scriptedWorker) Equip(context.Context, sessions.Equipment) error { return nil }
func (w *scriptedWorker) Variables(context.Context) (sessions.Namespace, error) {
	return sessions.Namespace{}, nil
}
func (w *scriptedWorker) Fork(context.Context, sessions.Purpose) (sessions.Understudy, error) {
	return nil, &sessions.ForkError{Reason: "there is only one"}
}
func (w *scriptedWorker) Interrupt() error { return errors.ErrUnsupported }
func (w *scriptedWorker) Kill() int {
	w.once.Do(func() { close(w.exited) })
	return 0
}
func (w *scriptedWorker) Close(context.Context) error {
	w.Kill()
	return nil
}
func (w *scriptedWorker) Exited() <-chan struct{}        { return w.exited }
func (w *scriptedWorker) Ended() *sessions.CrashError    { return nil }
func (w *scriptedWorker) Info() sessions.WorkerInfo      { return sessions.WorkerInfo{PID: 1} }
func (w *scriptedWorker) Resident() uint64               { return 0 }
func (w *scriptedWorker) Between() []sessions.Piece      { return nil }
func (w *scriptedWorker) Unclaimed() int                 { return 0 }
func (w *scriptedWorker) Usage() (sessions.Usage, error) { return sessions.Usage{}, nil }

// house is a server with tools and resources over a real Manager.
type house struct {
	manager   *sessions.Manager
	server    *server.MCPServer
	more      chan string
	resources *Server
}

func newHouse(t *testing.T, every time.Duration) *house {
	t.Helper()
	h := &house{more: make(chan string)}
	h.manager = sessions.NewManager(sessions.Options{
		Starter: scripted{h.more}, Logger: slog.New(slog.DiscardHandler), Dir: t.TempDir(), WorkdirRoot: t.TempDir(),
		Timeout: time.Hour, MaxTimeout: 2 * time.Hour, Wait: 45 * time.Second, Grace: 5 * time.Second,
		MaxSessions: 20, Queue: 2, OutputLimit: 1 << 20, SpoolAfter: 1 << 10, SpoolLimit: 1 << 30,
	})
	t.Cleanup(func() { h.manager.Close(context.Background()) })
	h.server = server.NewMCPServer("understudy", "test", server.WithToolCapabilities(false))
	// A client is whoever gives its name with the in-process connection's id.
	who := func(ctx context.Context) sessions.Client {
		return sessions.Client("principal:" + server.ClientSessionFromContext(ctx).SessionID())
	}
	tools.Register(h.server, h.manager, tools.Options{Client: who, Answers: answer.Options{TextBudget: 4000}})
	h.resources = Register(h.server, h.manager, Options{Client: who, Logger: slog.New(slog.DiscardHandler), every: every})
	t.Cleanup(h.resources.Close)
	return h
}

// connect returns a client of its own, and its notifications.
func (h *house) connect(t *testing.T, options ...client.ClientOption) (*client.Client, chan mcp.JSONRPCNotification) {
	t.Helper()
	c, err := client.NewInProcessClientWithOptions(h.server, options...)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	notifications := make(chan mcp.JSONRPCNotification, 1000)
	c.OnNotification(func(n mcp.JSONRPCNotification) { notifications <- n })
	must(t, c.Start(t.Context()))
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "tester", Version: "1"}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	must(t, errOf(c.Initialize(t.Context(), hello)))
	return c, notifications
}

// run runs code and returns the answer and the interpreter's id.
func run(t *testing.T, c *client.Client, arguments string) (*mcp.CallToolResult, string) {
	t.Helper()
	got := call(t, c, "run_python_code", arguments)
	record, ok := got.StructuredContent.(map[string]any)
	if !ok || got.IsError {
		t.Fatalf("%s: %+v", arguments, got.Content)
	}
	return got, record["interpreter_id"].(string)
}

func read(c *client.Client, address string) ([]mcp.ResourceContents, error) {
	var request mcp.ReadResourceRequest
	request.Params.URI = address
	result, err := c.ReadResource(context.Background(), request)
	if err != nil {
		return nil, err
	}
	return result.Contents, nil
}

// readText returns the text of a resource.
func readText(t *testing.T, c *client.Client, address string) string {
	t.Helper()
	contents, err := read(c, address)
	if err != nil || len(contents) != 1 {
		t.Fatalf("%s: %v %v", address, contents, err)
	}
	text, ok := contents[0].(mcp.TextResourceContents)
	if !ok || text.URI != address {
		t.Fatalf("%s: %+v", address, contents[0])
	}
	return text.Text
}

// eras are the two ways in which a client may speak.
var eras = map[string][]client.ClientOption{
	"modern": nil,
	"legacy": {client.WithLegacyProtocolOnly()},
}

// inEachEra runs a test with two clients of a house.
func inEachEra(t *testing.T, test func(t *testing.T, c, stranger *client.Client)) {
	t.Helper()
	h := newHouse(t, time.Hour)
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			c, _ := h.connect(t, options...)
			stranger, _ := h.connect(t, options...)
			test(t, c, stranger)
		})
	}
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
