package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"understudy/internal/config"
	"understudy/internal/transport"
)

// Serve is the command serve: MCP on standard input and output, which carry
// the protocol and nothing else, or over HTTP.
func Serve(ctx context.Context, c *config.Config, log *slog.Logger) error {
	if os.Getenv("GOGC") == "" {
		// The live heap is a few megabytes, so that the usual 100 collects
		// often: in paired runs warm calls took 7 % less time with 400
		// (median of 11 pairs; single pairs between 15 % less and 9 % more).
		debug.SetGCPercent(400)
	}
	out := os.Stdout
	os.Stdout = os.Stderr // a stray print of any library must not reach the protocol
	serve := func(a *App) error { return a.ServeStdio(ctx, os.Stdin, out) }
	if c.Serve.OverNetwork() {
		// The address is taken before anything else: a second server on it
		// must not start Python first.
		listener, err := net.Listen("tcp", c.Serve.Addr)
		if err != nil {
			return err
		}
		serve = func(a *App) error { return a.ServeHTTP(ctx, listener) }
	}
	a, err := Open(c, log)
	if err != nil {
		return err
	}
	began := time.Now()
	log.Info("serving MCP", "transport", c.Serve.Transport, "version", Version(), "pid", os.Getpid())
	err = serve(a)
	log.Info("stopping", "after", time.Since(began).Round(time.Second), "error", err)
	return errors.Join(err, a.Close())
}

// ServeStdio serves one client on the two streams until it leaves or ctx ends.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return transport.ServeStdio(ctx, a.server, in, out, a.log)
}

// ServeHTTP serves any number of clients until ctx ends.
func (a *App) ServeHTTP(ctx context.Context, listeners ...net.Listener) error {
	return transport.NewHTTP(a.server, a.httpOptions()).Serve(ctx, listeners...)
}

func (a *App) httpOptions() transport.HTTPOptions {
	s := a.config.Serve
	return transport.HTTPOptions{
		Streamable: slices.Contains(s.Transport, config.TransportHTTP),
		SSE:        slices.Contains(s.Transport, config.TransportSSE),
		Logger:     a.log,
	}
}
