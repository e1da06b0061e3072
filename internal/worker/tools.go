package worker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"understudy/internal/worker/wire"
	"understudy/sessions"
)

// Bounds of what a worker's code can have the server hold for its requests to other
// MCP servers.
const (
	mostToolRequests = 64 // at once; more wait in their sockets
	mostBeingRead    = 4  // each may have a header of megabytes
	// requestTime is how long a request may take to come, and an answer to be taken.
	requestTime = 10 * time.Second
)

// tools passes the requests of a worker's code to the run under way. Each comes on a
// socket of its own (see door_unix.go), so that many may wait at once.
type tools struct {
	log     *slog.Logger
	reading chan struct{}
	life    context.Context // ends with close
	endLife context.CancelFunc

	mu   sync.Mutex
	door *door    // nil before the first equip
	run  *toolRun // nil between two
}

func newTools(log *slog.Logger) *tools {
	t := &tools{log: log, reading: make(chan struct{}, mostBeingRead)}
	t.life, t.endLife = context.WithCancel(context.Background())
	return t
}

// toolRun is where the requests of an execution go.
type toolRun struct {
	sink sessions.Sink
	life context.Context // ends with the execution
}

// open returns what the worker needs to ask, nothing if it has that already or there is
// no such thing on this system.
func (t *tools) open() ([]*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.door != nil || t.life.Err() != nil {
		return nil, nil
	}
	ours, theirs, err := openDoor()
	if err != nil || theirs == nil {
		return nil, err
	}
	t.door = &ours
	go t.admit(ours)
	return []*os.File{theirs}, nil
}

// admit takes requests until the door is closed.
func (t *tools) admit(from door) {
	places := make(chan struct{}, mostToolRequests)
	for {
		places <- struct{}{}
		conn, err := from.accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { <-places }()
			defer func() { _ = conn.Close() }()
			defer context.AfterFunc(t.life, func() { _ = conn.Close() })()
			t.serve(conn)
		}()
	}
}

// serve answers one request. One that makes no sense gets no answer: no code of ours has
// sent it.
func (t *tools) serve(conn net.Conn) {
	request, err := t.read(conn)
	if err != nil {
		return
	}
	t.mu.Lock()
	run := t.run
	t.mu.Unlock()
	if run == nil {
		t.answer(conn, nil, &sessions.ToolRefusal{Kind: sessions.RefusedCancelled, Message: "tools of other servers can be called during a run only"})
		return
	}
	ctx, cancel := context.WithCancel(run.life)
	defer cancel()
	go func() { // the code waits no more when it closes its end
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	answer, err := run.sink.Tool(ctx, request)
	t.answer(conn, answer, err)
}

func (t *tools) read(conn net.Conn) (request sessions.ToolRequest, err error) {
	t.reading <- struct{}{}
	defer func() { <-t.reading }()
	defer time.AfterFunc(requestTime, func() { _ = conn.Close() }).Stop()
	frame, err := wire.Read(conn)
	if err == nil && frame.Kind != wire.TypeToolRequest {
		err = wire.Errorf("turn", "%s came through the door", frame.Kind)
	}
	if err == nil {
		err = frame.Decode(&request)
	}
	return request, err
}

func (t *tools) answer(conn net.Conn, answer *sessions.ToolAnswer, err error) {
	var refusal *sessions.ToolRefusal
	switch {
	case errors.As(err, &refusal):
	case errors.Is(err, context.Canceled):
		refusal = &sessions.ToolRefusal{Kind: sessions.RefusedCancelled, Message: "the run has ended"}
	case err != nil:
		t.log.Error("a request to another MCP server failed", "error", err)
		refusal = &sessions.ToolRefusal{Kind: sessions.RefusedUnavailable, Message: "the request failed in this server; its log says why"}
	}
	defer time.AfterFunc(requestTime, func() { _ = conn.Close() }).Stop()
	if refusal != nil {
		_ = wire.WriteFrame(conn, wire.TypeToolRefused, wire.ToolRefused{Kind: refusal.Kind, Message: refusal.Message}, nil)
		return
	}
	sizes := make([]int, len(answer.Attachments))
	for i, data := range answer.Attachments {
		sizes[i] = len(data)
	}
	_ = wire.WriteFrame(conn, wire.TypeToolAnswer, wire.ToolAnswer{Attachments: sizes, Body: answer.Body}, answer.Attachments)
}

// begin has requests go to a run until end.
func (t *tools) begin(sink sessions.Sink) (end func()) {
	life, over := context.WithCancel(context.Background())
	t.set(&toolRun{sink, life})
	return func() {
		t.set(nil)
		over()
	}
}

func (t *tools) set(run *toolRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = run
}

// close ends what waits, without waiting for that: another server may be slow to let go.
// No run is under way.
func (t *tools) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLife()
	if t.door != nil {
		t.door.close()
	}
}
