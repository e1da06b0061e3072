package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// headers is how long a client may take to send the head of a request.
	headers = 10 * time.Second
	// idleConnection is how long a connection may stay open between requests:
	// short, because whoever has nothing to say takes others' places.
	idleConnection = 30 * time.Second
	// maxHeader is how many bytes the head of a request may have.
	maxHeader = 64 << 10
	// lastWords is how long calls may take to be answered once they were
	// interrupted, and answers to be taken by their clients.
	lastWords = 10 * time.Second
)

// Serve answers on the listeners until ctx ends or one of them fails. Then
// running calls have StopGrace to end, the others are interrupted and answered,
// and everything is closed.
func (h *HTTP) Serve(ctx context.Context, listeners ...net.Listener) error {
	s := &http.Server{
		Handler:           h.handler,
		TLSConfig:         h.options.TLS,
		ReadHeaderTimeout: headers,
		IdleTimeout:       idleConnection,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	sweeping, endSweep := context.WithCancel(context.Background())
	h.work.tasks.Go(func() { h.sweep(sweeping) })
	ended := make(chan error, len(listeners))
	var err error
	var accepting sync.WaitGroup
	for _, l := range listeners {
		accepting.Go(func() { ended <- h.accept(s, l) })
	}
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	err = errors.Join(err, h.stop(s))
	accepting.Wait()
	endSweep()
	h.work.tasks.Wait()
	return err
}

func (h *HTTP) accept(s *http.Server, l net.Listener) error {
	secure := h.options.TLS != nil && l.Addr().Network() != "unix"
	h.log.Info("serving MCP over HTTP", "addr", l.Addr().String(), "tls", secure)
	l = bounded(l, h.options.MaxConnections)
	if secure {
		return s.ServeTLS(l, "", "")
	}
	return s.Serve(l)
}

// stop ends serving: nobody new, then the calls, then the streams.
func (h *HTTP) stop(s *http.Server) error {
	calls := h.work.stop()
	closing := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { closing <- s.Shutdown(ctx) }() // closes the listeners at once
	if calls > 0 {
		h.log.Info("stopping; calls are still running", "calls", calls, "grace", h.options.StopGrace)
	}
	if !h.work.wait(h.options.StopGrace) && h.options.Interrupt != nil {
		h.options.Interrupt()
		h.work.wait(lastWords)
	}
	h.work.endStreams()
	patience := time.AfterFunc(lastWords, cancel)
	defer patience.Stop()
	if err := <-closing; err != nil && !errors.Is(err, context.Canceled) {
		return errors.Join(err, s.Close())
	}
	return s.Close() // whoever has not taken his answer by now
}
