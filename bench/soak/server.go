package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// endTime is how long a server, and every process that it has started, may take
// to end when its client leaves or it is killed.
const endTime = 20 * time.Second

// place is where the servers of a soak, one after the other, keep their files.
type place struct{ data, temp, config, logs string }

func newPlace(dir string) (place, error) {
	p := place{
		data: filepath.Join(dir, "data"), temp: filepath.Join(dir, "tmp"),
		config: filepath.Join(dir, "config.yaml"), logs: filepath.Join(dir, "logs"),
	}
	for _, sub := range []string{p.data, p.temp, p.logs} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return p, err
		}
	}
	return p, os.WriteFile(p.config, nil, 0o644)
}

// server is a running understudy and a client of it.
type server struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	client *client.Client
	mark   string // in the environment of every process that descends from it
	log    string // path

	ended chan struct{} // closed when the process has ended, with err
	err   error
}

// startServer starts a server and greets it.
func (k *soak) startServer(ctx context.Context, history int, more ...string) (*server, error) {
	// A call waits as long as it takes: a dozen sessions share a machine that may be busy.
	args := []string{"--transport", "stdio", "--log-level", "debug", "--wait", "10m"}
	if k.options.start != "spawn" {
		args = append(args, "--history", strconv.Itoa(history))
	}
	s := k.newServer(append(args, more...)...)
	if err := s.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the server: %w", err), k.explain(s))
	}
	return s, nil
}

// newServer returns a server that has not been started yet.
func (k *soak) newServer(settings ...string) *server {
	k.servers++
	s := &server{
		mark: markName + "=" + rand.Text(), ended: make(chan struct{}),
		log: filepath.Join(k.place.logs, fmt.Sprintf("server-%d.log", k.servers)),
	}
	args := append([]string{
		"serve", "--config", k.place.config, "--data-dir", k.place.data,
		"--start", k.options.start, "--grace", grace.String(), "--structured-content", "always",
		"--max-sessions", "1000",
	}, settings...)
	if k.options.python != "" {
		args = append(args, "--python", k.options.python)
	}
	s.cmd = exec.Command(k.binary, args...)
	s.cmd.SysProcAttr = apart()
	s.cmd.Env, s.cmd.Dir = append(environment(), s.mark, "TMPDIR="+k.place.temp), k.place.data
	return s
}

// environment is ours without what would change how the server or its Pythons
// work: settings, and unbuffered output, which hides text that gets lost.
func environment() []string {
	var kept []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == "PYTHONUNBUFFERED" || strings.HasPrefix(name, "UNDERSTUDY_") && name != "UNDERSTUDY_PYTHON" {
			continue
		}
		kept = append(kept, entry)
	}
	return kept
}

func (s *server) run(ctx context.Context) error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own descriptor of it
	s.cmd.Stderr = log
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.client = client.NewClient(transport.NewIO(out, s.in, nil))
	greeting := s.greet(ctx) // before Wait, which closes our ends of the pipes
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	if greeting != nil {
		s.kill()
	}
	return greeting
}

func (s *server) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := s.client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "understudy-soak", Version: "1"}
	_, err := s.client.Initialize(ctx, hello)
	return err
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// signal sends a signal and waits for the server's end.
func (s *server) signal(signal os.Signal) error {
	if err := s.cmd.Process.Signal(signal); err != nil {
		return err
	}
	return s.awaitEnd()
}

// leave closes the conversation, which must end the server orderly.
func (s *server) leave() error {
	if err := s.in.Close(); err != nil {
		return err
	}
	if err := s.awaitEnd(); err != nil {
		return err
	}
	if s.err != nil {
		return fmt.Errorf("the server that was left by its client ended with: %w", s.err)
	}
	return nil
}

func (s *server) awaitEnd() error {
	select {
	case <-s.ended:
		if s.client != nil {
			_ = s.client.Close() // its pipes are closed already
		}
		return nil
	case <-time.After(endTime):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines go to the log
		return fmt.Errorf("the server (pid %d) has not ended in %s", s.pid(), endTime)
	}
}

// kill ends the server on the way out with an error.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.awaitEnd()
}

// gone waits until no process of the server's is left.
func (s *server) gone() error {
	deadline := time.Now().Add(endTime)
	for left := marked(s.mark); len(left) > 0; left = marked(s.mark) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after the server's end these processes are left: %v", endTime, left)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// dump has the server write down its goroutines, of which it dies, and returns
// what it wrote.
func (s *server) dump() (string, error) {
	before, err := os.Stat(s.log)
	if err != nil {
		return "", err
	}
	if err := s.signal(syscall.SIGQUIT); err != nil {
		return "", err
	}
	text, err := os.ReadFile(s.log)
	return string(text[min(before.Size(), int64(len(text))):]), err
}

// build returns the path of the server to soak: the one that was named, or one
// built here, with the race detector if the soak itself has it.
func build(ctx context.Context, o options, dir string) (string, error) {
	if o.server != "" {
		return filepath.Abs(o.server)
	}
	binary := filepath.Join(dir, "understudy")
	args := []string{"build", "-o", binary}
	if raceDetected() {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "understudy")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return binary, nil
}
