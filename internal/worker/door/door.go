// Package door passes the requests of a worker's code to other MCP servers on to the run
// under way. Each comes on a socket of its own, whose other end the code has sent through the
// door, so that threads and forked children may ask at once.
package door

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

// Door is that of one worker.
type Door struct {
	log     *slog.Logger
	reading chan struct{}
	life    context.Context // ends with Close
	endLife context.CancelFunc

	mu     sync.Mutex
	socket *socket // nil before Open
	run    *run    // nil between two
}

// New returns one that is not open.
func New(log *slog.Logger) *Door {
	d := &Door{log: log, reading: make(chan struct{}, mostBeingRead)}
	d.life, d.endLife = context.WithCancel(context.Background())
	return d
}

// run is where the requests of an execution go.
type run struct {
	sink sessions.Sink
	life context.Context // ends with the execution
}

// Open returns what the worker needs to ask, nothing if it has that already or there is
// no such thing on this system.
func (d *Door) Open() ([]*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.socket != nil || d.life.Err() != nil {
		return nil, nil
	}
	ours, theirs, err := openSocket()
	if err != nil || theirs == nil {
		return nil, err
	}
	d.socket = &ours
	go d.admit(ours)
	return []*os.File{theirs}, nil
}

// admit takes requests until the door is closed.
func (d *Door) admit(from socket) {
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
			defer context.AfterFunc(d.life, func() { _ = conn.Close() })()
			d.serve(conn)
		}()
	}
}

// serve answers one request. One that makes no sense gets no answer: no code of ours has
// sent it.
func (d *Door) serve(conn net.Conn) {
	request, err := d.read(conn)
	if err != nil {
		return
	}
	d.mu.Lock()
	run := d.run
	d.mu.Unlock()
	if run == nil {
		d.answer(conn, nil, &sessions.ToolRefusal{Kind: sessions.RefusedCancelled, Message: "tools of other servers can be called during a run only"})
		return
	}
	ctx, cancel := context.WithCancel(run.life)
	defer cancel()
	go func() { // the code waits no more when it closes its end
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	answer, err := run.sink.Tool(ctx, request)
	d.answer(conn, answer, err)
}

func (d *Door) read(conn net.Conn) (request sessions.ToolRequest, err error) {
	d.reading <- struct{}{}
	defer func() { <-d.reading }()
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

func (d *Door) answer(conn net.Conn, answer *sessions.ToolAnswer, err error) {
	var refusal *sessions.ToolRefusal
	switch {
	case errors.As(err, &refusal):
	case errors.Is(err, context.Canceled):
		refusal = &sessions.ToolRefusal{Kind: sessions.RefusedCancelled, Message: "the run has ended"}
	case err != nil:
		d.log.Error("a request to another MCP server failed", "error", err)
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

// Begin has requests go to a run until end.
func (d *Door) Begin(sink sessions.Sink) (end func()) {
	life, over := context.WithCancel(context.Background())
	d.set(&run{sink, life})
	return func() {
		d.set(nil)
		over()
	}
}

func (d *Door) set(run *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run = run
}

// Close ends what waits, without waiting for that: another server may be slow to let go.
// No run is under way.
func (d *Door) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLife()
	if d.socket != nil {
		d.socket.close()
	}
}
