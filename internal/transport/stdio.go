// Package transport carries MCP between clients and the server: it knows who
// calls and keeps the wire clean, and nothing of Python.
package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// StdioClient is the one client of a server on stdio.
const StdioClient = "stdio"

// concurrentCalls is how many tool calls are handled at once; a call beyond
// them is handled on the read loop, where a cancellation can't reach it.
// mcp-go's maximum.
const concurrentCalls = 100

// patience is how long the last answers may take to be written when the
// conversation is over: a client that no longer reads must not keep us, and
// with us every interpreter, alive.
const patience = 5 * time.Second

// ServeStdio answers MCP on the two streams until in ends, out can't be
// written to any more, or ctx ends. Calls in flight are cancelled then and
// have ended when it returns, unless the client does not take their answers.
func ServeStdio(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(WithCaller(ctx, Caller{Client: StdioClient}))
	defer cancel(nil)
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(slog.NewLogLogger(log.Handler(), slog.LevelWarn))
	server.WithWorkerPoolSize(concurrentCalls)(stdio)

	input := &endingReader{in: &lineLimiter{in: in, limit: maxLine, log: log}, ended: make(chan struct{})}
	listening := make(chan error, 1)
	go func() { listening <- stdio.Listen(ctx, input, &lastingWriter{out, cancel}) }()
	err := outcome(ctx, listening, input.ended, log)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errClientGone) || errors.Is(err, io.EOF) {
		return nil // the client left or we were asked to stop: the usual ends
	}
	return err
}

// outcome returns what listening came to. Once the conversation is over it
// waits no longer than patience.
func outcome(ctx context.Context, listening <-chan error, ended <-chan struct{}, log *slog.Logger) error {
	select {
	case err := <-listening:
		return err
	case <-ctx.Done():
	case <-ended:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-listening:
		return err
	case <-timer.C:
		log.Warn("the client does not read its last answers")
		return nil
	}
}

// endingReader says when its stream has ended. It has one reader at a time.
type endingReader struct {
	in    io.Reader
	ended chan struct{}
	over  bool
}

func (r *endingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if err != nil && !r.over {
		r.over = true
		close(r.ended)
	}
	return n, err
}

// maxLine is how many bytes one message of a client's may have. Code is
// refused from a sixth of it on, which is what JSON makes of bytes it escapes.
const maxLine = 64 << 20

// lineLimiter cuts lines that are too long, so that no client can fill our
// memory: mcp-go reads a line of any length. What is left of it is no JSON,
// and is answered as such.
type lineLimiter struct {
	in    io.Reader
	limit int
	log   *slog.Logger
	size  int // bytes of the present line so far
}

func (l *lineLimiter) Read(p []byte) (int, error) {
	for {
		n, err := l.in.Read(p)
		kept := l.cut(p[:n])
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// cut moves together what is kept of p and returns its length.
func (l *lineLimiter) cut(p []byte) (kept int) {
	for len(p[kept:]) > 0 {
		line := p[kept:]
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			end = len(line)
		}
		room := max(0, l.limit-l.size)
		if l.size <= l.limit && end > room {
			l.log.Warn("a message is too long", "limit", l.limit)
		}
		l.size += end
		drop := max(0, end-room)
		p = append(p[:kept+end-drop], p[kept+end:]...)
		kept += end - drop
		if kept < len(p) { // the line's end
			l.size = 0
			kept++
		}
	}
	return kept
}

var errClientGone = errors.New("the client reads no more")

// lastingWriter ends the conversation when its stream breaks: mcp-go would
// only log each failing write and go on computing answers for nobody.
type lastingWriter struct {
	out  io.Writer
	gone context.CancelCauseFunc
}

func (w *lastingWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil {
		w.gone(errClientGone)
	}
	return n, err
}
