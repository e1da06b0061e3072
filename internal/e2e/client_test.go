package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// remote is a server that clients reach over HTTP and SSE.
type remote struct{ url string }

var servingAt = regexp.MustCompile(`msg="serving MCP over HTTP" addr=(\S+)`)

// startRemote starts a server on a free port of this machine. It ends with the
// test.
func startRemote(t *testing.T, flags ...string) *remote {
	t.Helper()
	program, err := exec.LookPath("understudy")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"serve", "--transport", "http,sse", "--addr", "127.0.0.1:0"}, flags...)...)
	cmd.Env = serverEnvironment(t)
	return listen(t, cmd)
}

// listen starts a server that says where it listens, and ends it with the test.
func listen(t *testing.T, cmd *exec.Cmd) *remote {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() { readLog(t, stderr, address) })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	at, ok := <-address
	if !ok {
		t.Fatal("the server did not say where it listens")
	}
	return &remote{"http://" + at}
}

func readLog(t *testing.T, stderr io.Reader, address chan<- string) {
	defer close(address)
	told := false
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		t.Log("server:", lines.Text())
		if at := servingAt.FindStringSubmatch(lines.Text()); at != nil && !told {
			address <- at[1]
			told = true
		}
	}
}

func serverEnvironment(t *testing.T) []string {
	env := append(os.Environ(), "UNDERSTUDY_DATA_DIR="+t.TempDir(), "UNDERSTUDY_LOG_LEVEL=info")
	if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
		env = append(env, "UNDERSTUDY_PYTHON="+python)
	}
	return env
}

// way is how a client speaks with a server.
type way struct {
	name   string
	reach  func(t *testing.T, r *remote) (transport.Interface, error)
	legacy bool
}

var ways = []way{
	{"http modern", overHTTP, false},
	{"http legacy", overHTTP, true},
	{"sse", func(_ *testing.T, r *remote) (transport.Interface, error) { return transport.NewSSE(r.url + "/sse") }, true},
	{"stdio modern", overStdio, false},
	{"stdio legacy", overStdio, true},
}

func overHTTP(_ *testing.T, r *remote) (transport.Interface, error) {
	return transport.NewStreamableHTTP(r.url + "/mcp")
}

// overStdio starts a server of its own.
func overStdio(t *testing.T, _ *remote) (transport.Interface, error) {
	program, err := exec.LookPath("understudy")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "serve")
	cmd.Dir = t.TempDir() // where its code works
	cmd.Env = serverEnvironment(t)
	return startStdio(cmd)
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

// dialled counts the clients: each is a program of its own name, as all are of this
// process.
var dialled atomic.Int64

// connect greets a server in this way. The client leaves with the test.
func (w way) connect(t *testing.T, r *remote, options ...client.ClientOption) *client.Client {
	t.Helper()
	c, err := w.dial(t, r, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// patientDiscovery has a client wait longer than its five seconds for a busy server to say
// that it knows the newest era; it speaks an older one else.
var patientDiscovery = client.WithDiscoverTimeout(time.Minute)

func (w way) dial(t *testing.T, r *remote, options ...client.ClientOption) (*client.Client, error) {
	link, err := w.reach(t, r)
	if err != nil {
		return nil, err
	}
	if w.legacy {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	c := client.NewClient(link, append(options, patientDiscovery)...)
	if err := c.Start(context.Background()); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: fmt.Sprint("tester ", dialled.Add(1)), Version: "1"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err = c.Initialize(ctx, hello)
	return c, err
}

// callTool calls a tool and returns the record and the text of its answer.
func callTool(c *client.Client, tool string, arguments map[string]any) (record map[string]any, text string, err error) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return nil, "", err
	}
	for _, content := range result.Content {
		if piece, ok := mcp.AsTextContent(content); ok {
			text += piece.Text
		}
	}
	if result.IsError {
		return nil, text, fmt.Errorf("refused: %s", text)
	}
	record, _ = result.StructuredContent.(map[string]any)
	return record, text, nil
}

func mustCall(t *testing.T, c *client.Client, tool string, arguments map[string]any) (record map[string]any, text string) {
	t.Helper()
	record, text, err := callTool(c, tool, arguments)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return record, text
}
