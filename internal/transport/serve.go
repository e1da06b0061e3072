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
		ConnContext:       h.withPeer,
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

// stop ends serving: no new calls and streams, then the calls, then the
// streams, and only then the listeners. As long as calls run, somebody may have
// something to say: that one is cancelled, what its user answers, whether the
// server is ready.
func (h *HTTP) stop(s *http.Server) error {
	h.log.Info("stopping: no new calls; those that run may go on for a while", "grace", h.options.StopGrace)
	h.work.stop()
	if !h.work.wait(h.options.StopGrace) && h.options.Interrupt != nil {
		h.options.Interrupt()
		h.work.wait(lastWords)
	}
	h.work.endStreams()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(err, s.Close())
	}
	return s.Close() // whoever has not taken his answer by now
}

// work is what the server is busy with: the calls that are being handled, and
// the streams that are open.
type work struct {
	mu       sync.Mutex
	stopping bool
	calls    sync.WaitGroup

	streams    context.Context // ends when all streams shall
	endStreams context.CancelFunc
	tasks      sync.WaitGroup // goroutines that handle messages of SSE
}

func newWork() *work {
	w := &work{}
	w.streams, w.endStreams = context.WithCancel(context.Background())
	return w
}

// begin counts a call until end is called; false when the server is stopping.
func (w *work) begin() (end func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return nil, false
	}
	w.calls.Add(1)
	return w.calls.Done, true
}

// stop lets no further call begin.
func (w *work) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
}

func (w *work) isStopping() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping
}

// wait returns true when all calls have ended, false when that takes too long.
func (w *work) wait(patience time.Duration) bool {
	idle := make(chan struct{})
	go func() {
		w.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return true
	case <-time.After(patience):
		return false
	}
}

// streaming returns a context for a stream: it ends with the request, and when
// the server stops.
func (w *work) streaming(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.streams, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
