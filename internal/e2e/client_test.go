package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// way is how a client speaks with a server.
type way struct {
	name   string
	reach  func(t *testing.T, s *server) (transport.Interface, error)
	legacy bool
}

var ways = []way{
	{"http modern", overHTTP, false},
	{"http legacy", overHTTP, true},
	{"sse", func(_ *testing.T, s *server) (transport.Interface, error) { return transport.NewSSE(s.url + "/sse") }, true},
	{"stdio modern", overStdio, false},
	{"stdio legacy", overStdio, true},
}

func overHTTP(_ *testing.T, s *server) (transport.Interface, error) {
	return transport.NewStreamableHTTP(s.url + "/mcp")
}

// overStdio starts a server of its own.
func overStdio(t *testing.T, _ *server) (transport.Interface, error) {
	return startStdio(command(t, "serve"))
}

// withToken has a client show a token.
func withToken(s *server, token string) (transport.Interface, error) {
	return transport.NewStreamableHTTP(s.url+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
}

// stdioLink leads to a server over its standard input and output. mcp-go's own kills the
// server five seconds after it was left, when it may still be busy ending its sessions.
type stdioLink struct {
	*transport.Stdio
	cmd *exec.Cmd
	end func() error
}

// startStdio starts a server, which ends with the link.
func startStdio(cmd *exec.Cmd) (*stdioLink, error) {
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &stdioLink{Stdio: transport.NewIO(out, in, nil), cmd: cmd}
	l.end = sync.OnceValue(l.leave)
	return l, nil
}

// Close leaves the server and waits for its end, a minute at most.
func (l *stdioLink) Close() error { return l.end() }

func (l *stdioLink) leave() error {
	left := l.Stdio.Close()
	late := time.AfterFunc(time.Minute, func() { _ = l.cmd.Process.Kill() })
	defer late.Stop()
	return errors.Join(left, l.cmd.Wait())
}

// isAnonymous reports whether the server can't tell the client from others.
func (w way) isAnonymous() bool { return w.name == "http modern" && runtime.GOOS != "linux" }

// connect greets a server in this way. The client leaves with the test.
func (w way) connect(t *testing.T, s *server, options ...client.ClientOption) *client.Client {
	t.Helper()
	link, err := w.reach(t, s)
	must(t, err)
	if w.legacy {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	return dial(t, link, options...)
}

// dialled counts the clients: each is a program of its own name, as all are of this
// process.
var dialled atomic.Int64

// dial greets whom a link leads to. The client leaves with the test.
func dial(t *testing.T, link transport.Interface, options ...client.ClientOption) *client.Client {
	t.Helper()
	c, err := greet(link, fmt.Sprint("tester ", dialled.Add(1)), options...)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// spawn starts a server over stdio, and returns a client of it. Both end with the test.
func spawn(t *testing.T, cmd *exec.Cmd, options ...client.ClientOption) *client.Client {
	t.Helper()
	link, err := startStdio(cmd)
	must(t, err)
	return dial(t, link, options...)
}

// patience is how long a busy server may take to say that it knows the newest era: after
// mcp-go's five seconds a client would speak an older one.
var patience = client.WithDiscoverTimeout(time.Minute)

func greet(link transport.Interface, name string, options ...client.ClientOption) (*client.Client, error) {
	c := client.NewClient(link, append(options, patience)...)
	return c, introduce(c, name)
}

func introduce(c *client.Client, name string) error {
	if err := c.Start(context.Background()); err != nil {
		return err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err := c.Initialize(ctx, hello)
	return err
}

// answer is what a model gets from a call.
type answer struct {
	text   string
	images int
	record map[string]any
}

var errRefused = errors.New("refused")

// call calls a tool, with arguments as pairs of name and value. That nothing ran is an
// error, too.
func call(c *client.Client, tool string, pairs ...any) (a answer, err error) {
	arguments := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		arguments[pairs[i].(string)] = pairs[i+1]
	}
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return a, err
	}
	for _, content := range result.Content {
		switch content := content.(type) {
		case mcp.TextContent:
			a.text += content.Text
		case mcp.ImageContent:
			a.images++
		}
	}
	if result.IsError {
		return a, fmt.Errorf("%w: %s", errRefused, a.text)
	}
	a.record, _ = result.StructuredContent.(map[string]any)
	return a, nil
}

// run calls run_python_code, and manage an operation of manage_interpreters; more are
// further arguments. Each returns the record and the text of the answer.
func run(t *testing.T, c *client.Client, code string, more ...any) (record map[string]any, text string) {
	t.Helper()
	a, err := call(c, "run_python_code", append([]any{"code", code}, more...)...)
	insist(t, err == nil, "%s: %v", code, err)
	return a.record, a.text
}

func manage(t *testing.T, c *client.Client, operation string, more ...any) (record map[string]any, text string) {
	t.Helper()
	a, err := call(c, "manage_interpreters", append([]any{"operation", operation}, more...)...)
	insist(t, err == nil, "%s %v: %v", operation, more, err)
	return a.record, a.text
}

// refused expects that nothing runs, and that the answer says why.
func refused(t *testing.T, c *client.Client, why, tool string, pairs ...any) {
	t.Helper()
	a, err := call(c, tool, pairs...)
	expect(t, errors.Is(err, errRefused) && strings.Contains(a.text, why), "it is not refused because %q: %v\n%s", why, err, a.text)
}

// create makes an interpreter.
func create(t *testing.T, c *client.Client) (id string) {
	t.Helper()
	record, _ := manage(t, c, "create")
	return record["interpreter_id"].(string)
}

// interpreters are what the client's list has.
func interpreters(t *testing.T, c *client.Client) (listed []map[string]any) {
	t.Helper()
	record, _ := manage(t, c, "list")
	for _, one := range record["interpreters"].([]any) {
		listed = append(listed, one.(map[string]any))
	}
	return listed
}

// readResource returns what a resource holds, whether text or bytes.
func readResource(c *client.Client, uri string) (held string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var request mcp.ReadResourceRequest
	request.Params.URI = uri
	result, err := c.ReadResource(ctx, request)
	if err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	for _, contents := range result.Contents {
		switch c := contents.(type) {
		case mcp.TextResourceContents:
			held += c.Text
		case mcp.BlobResourceContents:
			data, err := base64.StdEncoding.DecodeString(c.Blob)
			if err != nil {
				return "", err
			}
			held += string(data)
		}
	}
	return held, nil
}
