package main

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
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// answerTime is how long any answer may take: none may hang. A call of the soak runs for
// less than 30 s, but a dozen of them, and compilers beside them, share the processors.
const answerTime = 5 * time.Minute

// The tools.
const (
	runTool    = "run_python_code"
	manageTool = "manage_interpreters"
)

// arguments of a tool.
type arguments map[string]any

// kind is how a client speaks with the server.
type kind string

const (
	stdio      kind = "stdio"
	modernHTTP kind = "modern HTTP"
	legacyHTTP kind = "legacy HTTP"
	legacySSE  kind = "SSE"
)

// link is a client's connection to a server.
type link struct {
	kind   kind
	client *client.Client
	http   *network // nil on stdio
}

func (s *server) connectPipes(out io.Reader) *link {
	l := &link{kind: stdio, client: client.NewClient(transport.NewIO(out, s.in, nil))}
	l.greet(s.ctx)
	return l
}

// connect makes a client of a server that listens.
func (s *server) connect(k kind) *link {
	l := &link{kind: k, http: newNetwork(s.socket)}
	through := &http.Client{Transport: l.http}
	quiet := slog.New(slog.DiscardHandler) // it tells of what we break
	if k == legacySSE {
		l.client = client.NewClient(must(transport.NewSSE("http://localhost/sse", transport.WithHTTPClient(through), transport.WithSSELogger(quiet))))
	} else {
		t := must(transport.NewStreamableHTTP("http://localhost/mcp", transport.WithHTTPBasicClient(through), transport.WithHTTPLogger(quiet)))
		l.client = client.NewClient(t)
		if k == legacyHTTP {
			// The older eras are used for years to come, whatever becomes of the option.
			l.client = client.NewClient(t, client.WithLegacyProtocolOnly()) //nolint:staticcheck // SA1019: deprecated
		}
	}
	l.greet(s.ctx)
	return l
}

func (l *link) greet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	fail(l.client.Start(context.WithoutCancel(ctx)))
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "understudy-soak", Version: "1"}
	if _, err := l.client.Initialize(ctx, hello); err != nil {
		failf("greeting over %s: %w", l.kind, err)
	}
}

// hangUp closes the connections, whatever is under way. rudely tells nobody.
func (l *link) hangUp(rudely bool) {
	if rudely && l.kind == legacyHTTP {
		// The client says goodbye when it is closed; this one loses its network.
		l.http.down.Store(true)
	}
	_ = l.client.Close() // a connection that is lost can't be closed well
	l.http.CloseIdleConnections()
}

// network is what the HTTP requests of one client go through.
type network struct {
	*http.Transport
	down  atomic.Bool  // nothing gets through any more
	calls atomic.Int64 // the id of the last tool call that was posted
}

func newNetwork(socket string) *network {
	return &network{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.down.Load() {
		return nil, errors.New("the network is down")
	}
	n.note(r)
	return n.Transport.RoundTrip(r)
}

// note keeps the id of a call, which the client tells nobody.
func (n *network) note(r *http.Request) {
	if r.GetBody == nil {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		return
	}
	defer func() { _ = body.Close() }()
	var message struct {
		ID     int64
		Method string
	}
	if json.NewDecoder(body).Decode(&message) == nil && message.Method == "tools/call" {
		n.calls.Store(message.ID)
	}
}

// answer is what a tool said.
type answer struct {
	text    string
	refused bool // isError
	images  int
	record  record
}

// record is what the soak reads of the records of both tools.
type record struct {
	InterpreterID string          `json:"interpreter_id,omitzero"`
	Execution     int             `json:"execution,omitzero"`
	Status        string          `json:"status,omitzero"`
	Success       bool            `json:"success,omitzero"`
	Result        json.RawMessage `json:"result,omitzero"`
	Notes         []string        `json:"notes,omitzero"`

	Stdout          string `json:"stdout,omitzero"`
	Stderr          string `json:"stderr,omitzero"`
	StdoutTruncated int    `json:"stdout_truncated,omitzero"`
	OutputPath      string `json:"output_path,omitzero"`

	ExcType string     `json:"exc_type,omitzero"`
	Figures []struct{} `json:"figures,omitzero"`
	Changes *changes   `json:"variables,omitzero"`

	InterpreterRestarted bool   `json:"interpreter_restarted,omitzero"`
	RestartReason        string `json:"restart_reason,omitzero"`
	RestartedBeforeRun   bool   `json:"restarted_before_run,omitzero"`
	StateRestored        *bool  `json:"state_restored,omitzero"`
	StateBefore          int    `json:"state_before,omitzero"`
	Recoverable          *bool  `json:"recoverable,omitzero"`

	Interpreters []listing `json:"interpreters,omitzero"`
	Interruption *struct {
		Stopped   bool `json:"stopped,omitzero"`
		StateKept bool `json:"state_kept,omitzero"`
	} `json:"interruption,omitzero"`
}

type changes struct {
	Added   []string `json:"added,omitzero"`
	Changed []string `json:"changed,omitzero"`
	Removed []string `json:"removed,omitzero"`
}

// listing is one interpreter in a list.
type listing struct {
	ID          string `json:"id,omitzero"`
	Status      string `json:"status,omitzero"`
	Default     bool   `json:"default,omitzero"`
	PID         int    `json:"pid,omitzero"`
	Workdir     string `json:"workdir,omitzero"`
	Parent      string `json:"parent,omitzero"`
	Recoverable bool   `json:"recoverable,omitzero"`
}

func (r record) restored() bool { return r.StateRestored != nil && *r.StateRestored }

// call makes one tool call. It outlives the panic of mcp-go's client (v1.2.1) when a
// call is given up in the moment in which its connection ends: it then has neither
// answer nor error.
func (l *link) call(ctx context.Context, tool string, args arguments) (a answer, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the client panicked: %v", panicked)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer in %s", answerTime))
	defer cancel()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, map[string]any(args)
	result, err := l.client.CallTool(ctx, request)
	if err != nil {
		return answer{}, errors.Join(context.Cause(ctx), err)
	}
	a = answer{refused: result.IsError}
	var texts []string
	for _, content := range result.Content {
		switch c := content.(type) {
		case mcp.TextContent:
			texts = append(texts, c.Text)
		case mcp.ImageContent:
			a.images++
		}
	}
	a.text = strings.Join(texts, "\n")
	raw, err := json.Marshal(result.StructuredContent) // null where the call was refused
	return a, errors.Join(err, json.Unmarshal(raw, &a.record))
}
