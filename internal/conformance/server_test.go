package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/internal/transport"
)

// understudy is the path of the server under test, built once.
var understudy = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "understudy")
	if text, err := exec.Command("go", "build", "-o", path, "understudy").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, text)
	}
	return path, nil
})

// commandLine returns the server's command line, and what its environment needs
// beside the usual.
func commandLine(t *testing.T, args ...string) (line, env []string) {
	t.Helper()
	path, err := understudy()
	must(t, err)
	env = []string{"UNDERSTUDY_DATA_DIR=" + t.TempDir()}
	if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
		env = append(env, "UNDERSTUDY_PYTHON="+python)
	}
	return append([]string{path, "serve"}, args...), env
}

// makeToken returns a new token whose line is in the file.
func makeToken(t *testing.T, file string) string {
	t.Helper()
	path, err := understudy()
	must(t, err)
	said := finish(t, program(t, path, "token", "agent", "--add-to", file))
	insist(t, said.status == 0, "making a token ended with %s", said)
	return strings.TrimSpace(said.stdout)
}

// longest is how long a server serves, which all tests of a transport share.
const longest = time.Hour

// serve starts the server on a free port and returns its address, such as
// "http://127.0.0.1:45231". It ends with the test.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	line, env := commandLine(t, append(args, "--addr", "127.0.0.1:0", "--log-format", "json")...)
	ctx, cancel := within(context.Background(), t, longest)
	t.Cleanup(cancel) // after stop
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	log := watch(stderr)
	t.Cleanup(func() { stop(t, cmd, log) })
	start, cancel := within(t.Context(), t, patience)
	defer cancel()
	select {
	case addr, ok := <-log.addr:
		insist(t, ok, "the server ended at once")
		return "http://" + addr
	case <-start.Done():
		t.Fatal("the server does not say where it listens")
		return ""
	}
}

// stop asks a server to end, as whoever runs it would, and checks that it does
// so in order.
func stop(t *testing.T, cmd *exec.Cmd, log *serverLog) {
	t.Helper()
	if cmd.Process.Signal(os.Interrupt) != nil {
		_ = cmd.Process.Kill() // Windows has no interrupt to send
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	<-log.ended // before Wait, which would close what is being read
	err := errors.Join(log.err, cmd.Wait())
	expect(t, err == nil, "the server ended with %v", err)
	if t.Failed() {
		t.Logf("the server's log:\n%s", log.text.String())
	}
}

// serverLog is what a server logs. Its text and err may be read when it has ended.
type serverLog struct {
	addr  chan string // gets the address; closed with the log
	ended chan struct{}
	text  strings.Builder
	err   error // why it was not read to its end
}

// watch reads a log to its end.
func watch(stream io.Reader) *serverLog {
	log := &serverLog{addr: make(chan string, 1), ended: make(chan struct{})}
	go func() {
		defer close(log.ended)
		defer close(log.addr)
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			fmt.Fprintln(&log.text, lines.Text())
			var entry struct{ Addr string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Addr != "" && len(log.addr) == 0 {
				log.addr <- entry.Addr
			}
		}
		log.err = lines.Err()
		_, _ = io.Copy(io.Discard, stream) // a server whose log is full would hang
	}()
	return log
}

// serveFixture starts the fixture on our HTTP stack and returns its address.
func serveFixture(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	h := transport.NewHTTP(newFixture(), transport.HTTPOptions{Streamable: true})
	ended := make(chan error, 1)
	ctx := t.Context() // ends before the clean-up begins
	go func() { ended <- h.Serve(ctx, listener) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Errorf("the fixture ended with %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}
