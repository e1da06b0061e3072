package policy

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	checks "understudy/internal/check"
)

var must, expect, insist = checks.Must, checks.Expect, checks.Insist

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is a checker of testdata, as a plain child.
type process struct {
	io.Writer
	io.Reader
	in    io.Closer
	out   io.Closer
	cmd   *exec.Cmd
	words bytes.Buffer
	ended chan struct{}
}

func (p *process) Close() error {
	_ = p.in.Close()
	<-p.ended
	return p.out.Close()
}

func (p *process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.out.Close()
}

func (p *process) Ended() <-chan struct{} { return p.ended }

func (p *process) LastWords() string {
	<-p.ended
	return p.words.String()
}

// starter starts checkers and keeps count.
type starter struct {
	file    string // that of testdata when it is ""
	started atomic.Int32
	last    atomic.Pointer[process]
}

func (s *starter) start(context.Context) (Process, error) {
	python := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	file := s.file
	if file == "" {
		file = "testdata/checker.py"
	}
	p := &process{cmd: exec.Command(python, "-I", "-S", "-B", file), ended: make(chan struct{})}
	p.cmd.Stderr = &p.words
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: that is closed when a checker ends, with what nobody has read yet.
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = theirs
	p.Writer, p.Reader, p.in, p.out = in, out, in, out
	err = p.cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	s.started.Add(1)
	s.last.Store(p)
	return p, nil
}
