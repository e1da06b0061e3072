package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/rogpeppe/go-internal/testscript"
)

// connectHTTP starts the server and returns a client of it: of SSE when only
// that is served; of the newest era when the script sets ERA=modern.
func (a *agent) connectHTTP(ts *testscript.TestScript, program string, env, args []string) *client.Client {
	addr := a.startHTTP(ts, program, env, args)
	options := []client.ClientOption{patientDiscovery}
	if ts.Getenv("ERA") != "modern" {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	if strings.HasSuffix(strings.Join(args, " "), "--transport sse") {
		sse, err := transport.NewSSE("http://" + addr + "/sse")
		ts.Check(err)
		return client.NewClient(sse, options...)
	}
	streamable, err := transport.NewStreamableHTTP("http://" + addr + "/mcp")
	ts.Check(err)
	return client.NewClient(streamable, options...)
}

// startHTTP starts the server and returns the address that its log names.
func (a *agent) startHTTP(ts *testscript.TestScript, program string, env, args []string) (addr string) {
	a.cmd = exec.Command(program, append([]string{"serve", "--addr", "127.0.0.1:0", "--log-level", "info"}, args...)...)
	a.cmd.Env, a.cmd.Dir = env, ts.MkAbs(".")
	stderr, err := a.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(a.cmd.Start())
	a.exited = make(chan error, 1)
	found := make(chan string, 1)
	go func() {
		defer close(found)
		named := regexp.MustCompile(`msg="serving MCP over HTTP" addr=(\S+)`)
		for lines := bufio.NewScanner(io.TeeReader(stderr, &a.stderr)); lines.Scan(); {
			if m := named.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
		a.exited <- a.cmd.Wait()
	}()
	ts.Defer(func() {
		_ = a.cmd.Process.Kill()
		for range found { // its log is whole then
		}
	})
	select {
	case addr = <-found:
	case <-time.After(time.Minute):
	}
	if addr == "" {
		ts.Fatalf("the server named no address")
	}
	return addr
}

// cmdTerminate asks the server to end, which must leave no process. With a file and
// an expression it does so while the file runs, once the progress matches; the
// call must be answered.
func cmdTerminate(ts *testscript.TestScript, _ bool, args []string) {
	a := agentOf(ts)
	var done <-chan error
	if len(args) > 0 {
		done = a.callUntil(context.Background(), ts, args[1], "run_python_code", arguments(ts, args[2:], "code", ts.ReadFile(args[0])))
	}
	ts.Check(a.cmd.Process.Signal(syscall.SIGTERM))
	if done != nil {
		ts.Check(<-done)
	}
	select {
	case err := <-a.exited:
		ts.Check(err)
	case <-time.After(time.Minute):
		ts.Fatalf("the server does not end")
	}
	if left := marked(a.mark); len(left) > 0 {
		ts.Fatalf("processes are left: %v", left)
	}
	fmt.Fprint(ts.Stderr(), a.stderr.String())
}
