package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"understudy/internal/config"
	"understudy/internal/transport"
	"understudy/internal/worker"
)

// Serve is the command serve: MCP on standard input and output, which carry
// the protocol and nothing else, or over HTTP.
func Serve(ctx context.Context, c *config.Config, log *slog.Logger) error {
	collectSeldom()
	out := os.Stdout
	os.Stdout = os.Stderr // a stray print of any library must not reach the protocol
	if err := worker.CheckDescriptors(); err != nil {
		return fmt.Errorf("not serving: %w", err)
	}
	if len(c.Ignored) > 0 {
		log.Warn("settings of AIDE that have no counterpart here are ignored", "keys", strings.Join(c.Ignored, ", "))
	}
	// Nobody is to find a server that would run code without the wall it needs.
	if err := checkFloor(ctx, c); err != nil {
		return err
	}
	serve := func(a *App) error { return a.ServeStdio(ctx, os.Stdin, out) }
	switch {
	case c.Connect.IsServer():
		shared, err := openShared(ctx, c, out)
		if err != nil {
			return err
		}
		defer shared.close()
		serve = func(a *App) error { return shared.serve(ctx, a) }
	case c.Serve.OverNetwork():
		// Before anything else: a second server on an address must not start
		// Python first.
		network, err := openNetwork(c, log)
		if err != nil {
			return err
		}
		defer network.close()
		serve = func(a *App) error { return network.serve(ctx, a) }
	}
	worker.Shelter(log)
	a, err := Open(c, log)
	if err != nil {
		return err
	}
	began := time.Now()
	endVisits := a.admitOperator(ctx)
	log.Info("serving MCP", "transport", c.Serve.Transport, "version", Version(), "pid", os.Getpid())
	err = serve(a)
	log.Info("stopping", "after", time.Since(began).Round(time.Second), "error", err)
	endVisits()
	return errors.Join(err, a.Close())
}

// ServeStdio serves one client on the two streams until it leaves or ctx ends.
func (a *App) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return transport.ServeStdio(ctx, a.server, in, out, a.log)
}
