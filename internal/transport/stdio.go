// Package transport carries MCP between clients and the server: it knows who
// calls and keeps the wire clean, and nothing of Python.
package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/mark3labs/mcp-go/server"
)

// StdioClient is the one client of a server on stdio.
const StdioClient = "stdio"

// concurrentCalls is how many tool calls are handled at once; a call beyond
// them is handled on the read loop, where a cancellation can't reach it.
// mcp-go's maximum.
const concurrentCalls = 100

// ServeStdio answers MCP on the two streams until in ends, out can't be
// written to any more, or ctx ends. Calls in flight are cancelled then and
// have ended when it returns.
func ServeStdio(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(slog.NewLogLogger(log.Handler(), slog.LevelWarn))
	server.WithWorkerPoolSize(concurrentCalls)(stdio)

	err := stdio.Listen(ctx, in, &lastingWriter{out, cancel})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errClientGone) || errors.Is(err, io.EOF) {
		return nil // the client left or we were asked to stop: the usual ends
	}
	return err
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
