package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"understudy/internal/config"
	"understudy/internal/proc"
	"understudy/internal/transport"
)

// Serve is the command serve: MCP on standard input and output, which carry
// the protocol and nothing else, or over HTTP.
func Serve(ctx context.Context, c *config.Config, log *slog.Logger) error {
	collectSeldom()
	out := os.Stdout
	os.Stdout = os.Stderr // a stray print of any library must not reach the protocol
	if err := proc.CheckDescriptors(); err != nil {
		return fmt.Errorf("not serving: %w", err)
	}
	if len(c.Ignored) > 0 {
		log.Warn("settings that are none any more, or none here, are ignored", "settings", strings.Join(c.Ignored, ", "))
	}
	secrets, err := TakeSecrets(c) // before any process is started
	if err != nil {
		return err
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
		network, err := openNetwork(c.Serve.Network, c.Serve.Auth, log)
		if err != nil {
			return err
		}
		defer network.close()
		serve = func(a *App) error { return network.serve(ctx, a) }
	}
	a, err := openWith(c, secrets, log)
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

const (
	// seldom is how far the heap grows between two collections while it is small, in
	// percent. The live heap is a few megabytes, so that the usual 100 collects often: in
	// paired runs warm calls took 7 % less time with 400 (median of 11 pairs; single pairs
	// between 15 % less and 9 % more).
	seldom = 400
	// smallHeap is up to how many live bytes it does: what a session makes the server read
	// is not to be held five times.
	smallHeap = 12 << 20
)

// collectSeldom sets how often garbage is collected, unless the user has.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(seldom)
		afterCollection(seldom)
	}
}

// afterCollection looks at the heap after each collection from now on.
func afterCollection(percent int) {
	runtime.AddCleanup(new([16]byte), func(before int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		now := seldom
		if live[0].Value.Uint64() > smallHeap {
			now = 100
		}
		if now != before {
			debug.SetGCPercent(now)
		}
		afterCollection(now)
	}, percent)
}

// background is what one part of the server does beside answering: its context ends with
// stop, which waits for all of it.
type background struct {
	context.Context
	end  context.CancelFunc
	mu   sync.Mutex // between Go and stop
	work sync.WaitGroup
}

func newBackground() *background {
	ctx, end := context.WithCancel(context.Background())
	return &background{Context: ctx, end: end}
}

// Go does something that ends when the context does. After stop nothing begins: it reports
// whether it did.
func (b *background) Go(do func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Err() != nil {
		return false
	}
	b.work.Go(func() { do(b) })
	return true
}

func (b *background) stop() {
	b.mu.Lock()
	b.end()
	b.mu.Unlock()
	b.work.Wait()
}
