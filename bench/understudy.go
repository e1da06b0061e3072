package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// server is a running understudy and the barest client of it: JSON-RPC lines,
// one call at a time, unless its lower half (send, receive) is used.
type server struct {
	*child
	lastID int
}

// serverArgs are the arguments of a server with its default settings, whatever
// the user's configuration says. All servers of a run share a data directory:
// the first lays down the worker's files there, as on a user's machine.
func serverArgs(b *bench) ([]string, error) {
	settings := filepath.Join(b.dir, "config.yaml")
	if err := os.WriteFile(settings, nil, 0o644); err != nil {
		return nil, err
	}
	data := filepath.Join(b.dir, "data")
	return []string{"serve", "--config", settings, "--data-dir", data, "--python", b.python, "--log-level", "warn"}, nil
}

// startServer starts a server, with settings beside the default ones, and
// greets it.
func startServer(ctx context.Context, b *bench, settings ...string) (*server, error) {
	args, err := serverArgs(b)
	if err != nil {
		return nil, err
	}
	c, err := startChild(ctx, b.dir, b.binary, append(args, settings...)...)
	if err != nil {
		return nil, err
	}
	s := &server{child: c}
	if err := s.greet(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *server) greet() error {
	id, err := s.send("initialize", map[string]any{
		"protocolVersion": "2025-11-25",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": "understudy-bench", "version": "1"},
	})
	if err != nil {
		return err
	}
	a, err := s.receive()
	if err != nil {
		return fmt.Errorf("greeting the server: %w", err)
	}
	if a.ID != id {
		return fmt.Errorf("greeting the server: request %d was answered as %d", id, a.ID)
	}
	_, err = s.in.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
	return err
}

// answer is a response with the moment in which its last byte was read.
type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	arrived time.Time
	size    int // bytes of the message
}

// send writes a request and returns its id.
func (s *server) send(method string, params any) (int, error) {
	s.lastID++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.lastID, "method": method, "params": params})
	if err != nil {
		return 0, err
	}
	_, err = s.in.Write(append(line, '\n'))
	return s.lastID, s.explain(err)
}

// receive returns the next response; notifications are passed over.
func (s *server) receive() (answer, error) {
	for {
		line, err := s.out.ReadBytes('\n')
		a := answer{arrived: time.Now(), size: len(line)}
		if err != nil {
			return a, s.explain(err)
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return a, fmt.Errorf("the server wrote %.200q: %w", line, err)
		}
		if a.Method != "" {
			continue
		}
		if a.Error != nil {
			return a, fmt.Errorf("the server refused: %s", a.Error)
		}
		return a, nil
	}
}

// toolResult is what a tool answered.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Record record `json:"structuredContent"`

	raw json.RawMessage
}

// record is what the bench reads of the answers of both tools.
type record struct {
	Success         bool            `json:"success"`
	InterpreterID   string          `json:"interpreter_id"`
	Status          string          `json:"status"`
	Stdout          string          `json:"stdout"`
	StdoutTruncated int             `json:"stdout_truncated"`
	Result          json.RawMessage `json:"result"`
	Restarted       bool            `json:"interpreter_restarted"`
	StateRestored   bool            `json:"state_restored"`
	Interpreters    []listed        `json:"interpreters"`
}

// listed is an interpreter of a list.
type listed struct {
	ID          string `json:"id"`
	Recoverable bool   `json:"recoverable"`
	Obstacle    string `json:"not_recoverable_because"`
}

func (a answer) decode() (toolResult, error) {
	r := toolResult{raw: a.Result}
	return r, json.Unmarshal(a.Result, &r)
}

// unsuccessful is the error of an answer that was to be a success.
func (r toolResult) unsuccessful() error {
	if r.Record.Success {
		return nil
	}
	return fmt.Errorf("a call did not succeed: %.2000s", r.raw)
}

// decodeResult returns what a tool answered, or an error if it did not do what
// it was asked to.
func (a answer) decodeResult() (toolResult, error) {
	r, err := a.decode()
	if err == nil {
		err = r.unsuccessful()
	}
	return r, err
}

// timed is a tool's answer with what it took to get it, from the first byte of
// the request to the last one of the response.
type timed struct {
	toolResult
	seconds float64
	size    int // bytes of the response
}

// try uses a tool, whatever comes of it.
func (s *server) try(tool string, arguments map[string]any) (timed, error) {
	began := time.Now()
	if _, err := s.send("tools/call", map[string]any{"name": tool, "arguments": arguments}); err != nil {
		return timed{}, err
	}
	a, err := s.receive()
	if err != nil {
		return timed{}, err
	}
	r, err := a.decode()
	return timed{toolResult: r, seconds: a.arrived.Sub(began).Seconds(), size: a.size}, err
}

// call uses a tool that has to succeed.
func (s *server) call(tool string, arguments map[string]any) (timed, error) {
	t, err := s.try(tool, arguments)
	if err == nil {
		err = t.unsuccessful()
	}
	return t, err
}

// run runs code in the client's default interpreter.
func (s *server) run(code string) (timed, error) {
	return s.call("run_python_code", map[string]any{"code": code})
}

// runIn runs code in an interpreter; "" is the client's default one.
func (s *server) runIn(interpreter, code string) (timed, error) {
	return s.call("run_python_code", inInterpreter(interpreter, code))
}

func inInterpreter(interpreter, code string) map[string]any {
	arguments := map[string]any{"code": code}
	if interpreter != "" {
		arguments["interpreter_id"] = interpreter
	}
	return arguments
}

// expect runs code that has to print just that text.
func (s *server) expect(interpreter, code, printed string) (timed, error) {
	r, err := s.runIn(interpreter, code)
	if err == nil && r.Record.Stdout != printed {
		err = fmt.Errorf("%.100q printed %.200q, not %.200q", code, r.Record.Stdout, printed)
	}
	return r, err
}

// manage carries out an operation; interpreter may be "".
func (s *server) manage(operation, interpreter string) (timed, error) {
	arguments := map[string]any{"operation": operation}
	if interpreter != "" {
		arguments["interpreter_id"] = interpreter
	}
	return s.call("manage_interpreters", arguments)
}

// create makes another interpreter and returns its id.
func (s *server) create() (string, error) {
	made, err := s.manage("create", "")
	return made.Record.InterpreterID, err
}

func (s *server) remove(id string) error {
	_, err := s.manage("delete", id)
	return err
}

// sum is the warm call that is measured, and checks its answer.
func (s *server) sum(interpreter string) (float64, error) {
	r, err := s.expect(interpreter, "1+1", "2\n")
	return r.seconds, err
}
