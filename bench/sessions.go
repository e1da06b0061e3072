package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	manySessions = 8
	// callsEach is how many calls a session answers in one round.
	callsEach = 100
	// cycles of create and delete in one round.
	cycles = 5
)

// measureSessions measures one server with several sessions. ipykernel has no
// part in it: it has no server of its own.
func measureSessions(ctx context.Context, b *bench) (err error) {
	s, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var ids []string
	for range manySessions {
		id, err := s.create()
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	all, err := rounds(b.rounds, []contender{
		{"create and delete", func() (float64, error) { return createAndDelete(s) }},
		{"one session", func() (float64, error) { return throughput(s, ids[:1]) }},
		{"many sessions", func() (float64, error) { return throughput(s, ids) }},
	})
	if err != nil {
		return err
	}
	b.report.add(table{
		title: "Sessions of one server",
		note:  fmt.Sprintf("Calls of `1+1` through MCP over stdio; every session has one call under way all the time, from one client, %d in a round.", callsEach),
		unit:  rate,
		rows: []row{
			{name: "create and delete a session", values: all[0]},
			{name: "calls, one session", values: all[1]},
			{fmt.Sprintf("calls, %d sessions at once", manySessions), all[2], all[1], "one session"},
		},
	})
	return nil
}

func createAndDelete(s *server) (float64, error) {
	began := time.Now()
	for range cycles {
		id, err := s.create()
		if err != nil {
			return 0, err
		}
		if err := s.remove(id); err != nil {
			return 0, err
		}
	}
	return cycles / time.Since(began).Seconds(), nil
}

// throughput keeps one call under way in every session and returns calls per
// second of them all.
func throughput(s *server, ids []string) (float64, error) {
	began := time.Now()
	underWay := map[int]string{} // request id to interpreter
	left := map[string]int{}
	for _, id := range ids {
		left[id] = callsEach
		if err := s.ask(id, underWay); err != nil {
			return 0, err
		}
	}
	for len(underWay) > 0 {
		id, err := s.take(underWay)
		if err != nil {
			return 0, err
		}
		if left[id]--; left[id] > 0 {
			if err := s.ask(id, underWay); err != nil {
				return 0, err
			}
		}
	}
	return float64(len(ids)*callsEach) / time.Since(began).Seconds(), nil
}

// ask begins a call in an interpreter.
func (s *server) ask(interpreter string, underWay map[int]string) error {
	request, err := s.send("tools/call", map[string]any{
		"name": "run_python_code", "arguments": map[string]any{"code": "1+1", "interpreter_id": interpreter},
	})
	underWay[request] = interpreter
	return err
}

// take waits for any call's answer and returns the interpreter it came from.
func (s *server) take(underWay map[int]string) (string, error) {
	a, err := s.receive()
	if err != nil {
		return "", err
	}
	id, known := underWay[a.ID]
	delete(underWay, a.ID)
	r, err := a.decodeResult()
	if err == nil && (!known || r.Record.InterpreterID != id) {
		err = fmt.Errorf("request %d to %q was answered by %q", a.ID, id, r.Record.InterpreterID)
	}
	return id, err
}
