package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// command is understudy with arguments, a data directory and a working directory of its own.
// It ends before go test would be over, which would leave it behind.
func command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	ctx := context.Background()
	if last, limited := t.Deadline(); limited {
		limit, cancel := context.WithDeadline(ctx, last.Add(-30*time.Second))
		t.Cleanup(cancel)
		ctx = limit
	}
	cmd := exec.CommandContext(ctx, binary, arguments...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "UNDERSTUDY_DATA_DIR="+t.TempDir(), "UNDERSTUDY_LOG_LEVEL=info")
	if path := os.Getenv("UNDERSTUDY_TEST_PYTHON"); path != "" {
		cmd.Env = append(cmd.Env, "UNDERSTUDY_PYTHON="+path)
	}
	return cmd
}

// python is the Python of the tests, which may have no scientific libraries.
func python() string {
	if path := os.Getenv("UNDERSTUDY_TEST_PYTHON"); path != "" {
		return path
	}
	return "python3"
}

// server is an understudy that clients reach over HTTP and SSE.
type server struct {
	cmd   *exec.Cmd
	url   string
	log   serverLog
	asked sync.Once // to end
	ended chan struct{}
	err   error // how it ended
}

var servingAt = regexp.MustCompile(`msg="serving MCP over HTTP" addr=(\S+)`)

// startServer starts a server on a free port of this machine. It ends with the test.
func startServer(t *testing.T, flags ...string) *server {
	t.Helper()
	arguments := []string{"serve", "--transport", "http,sse", "--addr", "127.0.0.1:0"}
	return listen(t, command(t, append(arguments, flags...)...))
}

// listen starts a server that says where it listens. It ends with the test, and well.
func listen(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s, err := launch(cmd)
	must(t, err)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		t.Logf("the server's log:\n%s", s.log.String())
	})
	return s
}

// launch starts a server and waits until it says where it listens.
func launch(cmd *exec.Cmd) (*server, error) {
	s := &server{cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &s.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.ended)
		s.err = cmd.Wait()
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if at := servingAt.FindStringSubmatch(s.log.String()); at != nil {
			s.url = "http://" + at[1]
			return s, nil
		}
		select {
		case <-s.ended:
			return nil, fmt.Errorf("the server ended: %w\n%s", s.err, s.log.String())
		default:
		}
	}
	return nil, errors.Join(errors.New("the server does not say where it listens"), s.stop())
}

// stop ends the server as an operator would, and returns how it ended. More than once is
// no harm.
func (s *server) stop() error {
	s.terminate()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(time.Minute):
		s.kill()
		return errors.New("it did not end within a minute of being asked")
	}
}

// terminate asks the server to end, once: at a second signal it would end without an answer
// to what runs.
func (s *server) terminate() {
	s.asked.Do(func() { _ = s.cmd.Process.Signal(syscall.SIGTERM) }) // it may have ended
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.err = nil // it was our doing
}

// serverLog is what servers have logged so far.
type serverLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *serverLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// markName is the environment variable that marks the processes of a test. It
// doesn't begin like the server's own, which workers do not inherit.
const markName = "MARK_OF_TEST"

// marked returns the processes that have mark in their environment. Elsewhere than
// on Linux it sees none.
func marked(mark string) (found []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		environ, _ := os.ReadFile(process + "/environ") // it may end while we read
		if bytes.Contains(environ, []byte(mark)) {
			command, _ := os.ReadFile(process + "/cmdline")
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(process), command))
		}
	}
	return found
}

// eventually returns when check succeeds.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// comesTrue returns when something holds.
func comesTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	eventually(t, func() error {
		if holds() {
			return nil
		}
		return fmt.Errorf("it never comes to this: %s", what)
	})
}

// finish runs a command that is to end soon, and returns all that it says.
func finish(cmd *exec.Cmd) (said string, err error) {
	var all serverLog
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err = cmd.Wait()
	return all.String(), err
}

// fails expects that a command fails and says why.
func fails(t *testing.T, cmd *exec.Cmd, why string) {
	t.Helper()
	said, err := finish(cmd)
	expect(t, err != nil && strings.Contains(said, why), "%q does not fail because of %q: %v\n%s", cmd.Args, why, err, said)
}
