package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// stopGrace is how long a process may take to end when it is asked to.
const stopGrace = 10 * time.Second

// child is a process that answers lines with lines.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said *tail
}

// startChild starts a process in dir. When ctx ends, the process is asked to
// leave by the end of its input, so that it can clear up.
func startChild(ctx context.Context, dir, name string, args ...string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, name, args...), said: &tail{}}
	c.cmd.Dir, c.cmd.Stderr, c.cmd.WaitDelay = dir, c.said, stopGrace
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 1<<16)
	c.cmd.Cancel = c.in.Close
	return c, c.cmd.Start()
}

// exchange sends a line and returns the next one, and how long that took in
// seconds.
func (c *child) exchange(line []byte) ([]byte, float64, error) {
	began := time.Now()
	if _, err := c.in.Write(line); err != nil {
		return nil, 0, c.explain(err)
	}
	answer, err := c.out.ReadBytes('\n')
	took := time.Since(began).Seconds()
	return answer, took, c.explain(err)
}

// explain adds what the process said on standard error.
func (c *child) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("talking to %s: %w%s", c.cmd.Args[0], err, c.said)
}

// close lets the process end, and ends it if it does not.
func (c *child) close() error { return c.closeWithin(stopGrace) }

func (c *child) closeWithin(grace time.Duration) error {
	if c == nil {
		return nil
	}
	killer := time.AfterFunc(grace, func() { _ = c.cmd.Process.Kill() }) // Wait tells
	defer killer.Stop()
	_ = c.in.Close() // closed already when the context ended
	_, _ = io.Copy(io.Discard, c.out)
	return c.explain(c.cmd.Wait())
}

// driver is a child that is told what to do in JSON.
type driver struct{ *child }

// order is what a driver is told; which fields count depends on Do.
type order struct {
	Do        string `json:"do"`
	Transport string `json:"transport,omitempty"`
	Code      string `json:"code,omitempty"`
	Count     int    `json:"count,omitempty"`
	// Pause comes before each of several calls, in seconds.
	Pause float64 `json:"pause,omitempty"`
}

// finding is what a driver answers.
type finding struct {
	Seconds []float64 `json:"seconds"`
	Bytes   int       `json:"bytes"`
	Text    string    `json:"text"` // the beginning of what was printed
	PID     int       `json:"pid"`
	Error   string    `json:"error"`
}

func (d driver) ask(o order) (finding, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return finding{}, err
	}
	answer, _, err := d.exchange(append(line, '\n'))
	if err != nil {
		return finding{}, err
	}
	var f finding
	if err := json.Unmarshal(answer, &f); err != nil {
		return f, fmt.Errorf("%s answered %q: %w", d.cmd.Args[0], answer, err)
	}
	if f.Error != "" {
		return f, fmt.Errorf("%s: %s", o.Do, f.Error)
	}
	return f, nil
}

// medianOf asks for measurements and returns their median.
func medianOf(d driver, o order) (float64, error) {
	f, err := d.ask(o)
	if err == nil && len(f.Seconds) == 0 {
		err = errors.New("the driver measured nothing")
	}
	if err != nil {
		return 0, err
	}
	return values(f.Seconds).median(), nil
}

// startScript starts a Python program of the bench's as a driver, in a directory
// of its own, whose path is its argument.
func startScript(ctx context.Context, b *bench, name, text string) (driver, error) {
	dir, err := os.MkdirTemp(b.dir, strings.TrimSuffix(name, ".py")+"-")
	if err != nil {
		return driver{}, err
	}
	script := filepath.Join(dir, name)
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return driver{}, err
	}
	c, err := startChild(ctx, dir, b.python, script, dir)
	return driver{c}, err
}

// closers closes what a section has started, the last first.
type closers struct{ list []func() error }

func (c *closers) later(end func() error) { c.list = append(c.list, end) }

func (c *closers) close() error {
	var err error
	for _, end := range slices.Backward(c.list) {
		err = errors.Join(err, end())
	}
	return err
}

// tail keeps the end of what is written to it, for error messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailLimit is how much a tail keeps, in bytes.
const tailLimit = 4000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailLimit; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// String returns the end of the text on lines of its own, or nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "\n" + string(t.text)
}
