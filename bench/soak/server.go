package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endTime is how long a server, and every process that it has started, may take
// to end when its client leaves or it is killed.
const endTime = 20 * time.Second

// grace is how long code may take to obey an interrupt.
const grace = 5 * time.Second

// server is a running understudy.
type server struct {
	*soak
	cmd    *exec.Cmd
	mark   string // in the environment of every process that descends from it
	log    string // path
	stdio  *link  // nil for one that listens
	in     io.WriteCloser
	socket string // "" on stdio

	ended chan struct{} // closed when the process has ended, with err
	err   error
}

// startServer starts a server, on stdio or a Unix socket, and waits until it answers.
func (k *soak) startServer(network bool, settings ...string) *server {
	number := len(k.servers) + 1
	s := &server{
		soak: k, mark: markName + "=" + rand.Text(), ended: make(chan struct{}),
		log: k.path("logs", fmt.Sprintf("server-%d.log", number)),
	}
	k.servers = append(k.servers, s)
	args := []string{
		"serve", "--config", k.path("config.yaml"), "--data-dir", k.path("data"), "--start", k.start,
		"--grace", grace.String(), "--structured-content", "always", "--max-sessions", "1000", "--log-level", "debug",
	}
	if network {
		s.socket = k.path("s" + strconv.Itoa(number))
		args = append(args, "--transport", "http,sse", "--socket", s.socket, "--max-requests-per-second", "0")
	} else {
		// A call waits as long as it takes: a dozen sessions share a machine that may be busy.
		args = append(args, "--transport", "stdio", "--wait", "10m")
	}
	if k.options.python != "" {
		args = append(args, "--python", k.options.python)
	}
	s.cmd = exec.Command(k.binary, append(args, settings...)...)
	s.cmd.SysProcAttr, s.cmd.Dir = apart(), k.path("data")
	s.cmd.Env = append(environment(), s.mark, "TMPDIR="+k.path("tmp"))
	s.begin()
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

func (s *server) begin() {
	log := must(os.Create(s.log))
	defer log.Close() // the server has its own descriptor of it
	s.cmd.Stderr = log
	var out io.Reader
	if s.socket == "" {
		s.in = must(s.cmd.StdinPipe())
		out = must(s.cmd.StdoutPipe())
	}
	fail(s.cmd.Start())
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	if s.socket == "" {
		s.stdio = s.connectPipes(out)
		return
	}
	eventually(s.ctx, answerTime, func() error {
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			return fmt.Errorf("the server doesn't listen: %w", err)
		}
		return conn.Close()
	})
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// signal sends a signal and waits for the end of the server and of all its processes.
func (s *server) signal(signal os.Signal) {
	fail(s.cmd.Process.Signal(signal))
	s.awaitEnd()
}

// leave closes the conversation, or asks who listens to stop; the server must end orderly.
func (s *server) leave() {
	if s.socket == "" {
		fail(s.in.Close())
		s.awaitEnd()
	} else {
		s.signal(syscall.SIGTERM)
	}
	if s.err != nil {
		failf("the server that was left ended with: %w", s.err)
	}
}

func (s *server) awaitEnd() {
	select {
	case <-s.ended:
	case <-time.After(endTime):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines go to the log
		failf("the server (pid %d) has not ended in %s", s.pid(), endTime)
	}
	if s.stdio != nil {
		_ = s.stdio.client.Close() // its pipes are closed already
	}
	eventually(s.ctx, endTime, func() error {
		if left := marked(s.mark); len(left) > 0 {
			return fmt.Errorf("the server has ended (%s), and these processes are left: %v", s.log, left)
		}
		return nil
	})
	fail(s.raceFree())
}

// raceFree returns what the race detector has found in the server, if anything.
func (s *server) raceFree() error {
	text, err := os.ReadFile(s.log)
	if at := bytes.Index(text, []byte("WARNING: DATA RACE")); at >= 0 {
		return fmt.Errorf("the server has a data race (%s):\n%.6000s", s.log, text[at:])
	}
	return err
}

// dump has the server write down its goroutines, of which it dies, and returns
// what it wrote.
func (s *server) dump() string {
	before := must(os.Stat(s.log)).Size()
	s.signal(syscall.SIGQUIT)
	text := must(os.ReadFile(s.log))
	return string(text[min(before, int64(len(text))):])
}

func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// lastWords ends the servers that still run, and returns the ends of their logs, and of
// the newest one's.
func (k *soak) lastWords() string {
	const most = 6000
	var words strings.Builder
	for i, s := range k.servers {
		newest := i == len(k.servers)-1
		if s.cmd.Process == nil || s.hasEnded() && !newest { // it didn't start, or did what it had to
			continue
		}
		text, err := os.ReadFile(s.log)
		_ = s.cmd.Process.Kill() // it may have ended
		if err := errors.Join(err, guard(s.awaitEnd)); err != nil {
			fmt.Fprintln(&words, err)
		}
		fmt.Fprintf(&words, "the end of the server's log, %s:\n%s\n", s.log, text[max(0, len(text)-most):])
	}
	return words.String()
}
