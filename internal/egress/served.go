package egress

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// loggedHosts bounds what one session can have the server remember and log.
const loggedHosts = 100

// served is one listener and all that came through it.
type served struct {
	net.Listener
	proxy   *Proxy
	log     *slog.Logger
	places  *semaphore.Weighted // one for each connection
	own     chan struct{}       // for those that take no place of all, so that others can't keep it out
	life    context.Context     // ends with the listener
	endLife context.CancelFunc

	mu      sync.Mutex
	refused map[string]bool // hosts whose refusal was logged
}

func newServed(p *Proxy, name string, l net.Listener) *served {
	s := &served{
		Listener: l, proxy: p, log: p.log.With("session", name), refused: map[string]bool{},
		places: semaphore.NewWeighted(p.perSession), own: make(chan struct{}, p.ofItsOwn),
	}
	s.life, s.endLife = context.WithCancel(p.life)
	return s
}

// run answers until the listener is closed or the proxy is. Connections, tunnels too, end
// with the life of it.
func (s *served) run() {
	defer context.AfterFunc(s.life, func() { _ = s.Close() })()
	h := newHandler(s)
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: heading, IdleTimeout: s.proxy.idle, MaxHeaderBytes: headBytes,
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return s.life },
	}
	var intercepting sync.WaitGroup
	if h.interceptor != nil {
		intercepting.Go(h.interceptor.run)
	}
	err := server.Serve(s) // until the listener is closed
	s.endLife()
	intercepting.Wait()
	_ = server.Close()
	h.close()
	s.log.Debug("egress: the listener is closed", "error", err)
}

// Accept is for http.Server. What can't be served is answered here, after a while:
// many clients open more connections than they need, and leave them soon.
func (s *served) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if s.life.Err() != nil { // the listener is closed only a moment after that
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		free, full := s.enter()
		if free != nil {
			return newInlet(s.life, conn, s.proxy.idle, free), nil
		}
		turnAway(conn, full)
	}
}

// enter waits for a place among the session's connections, and for one of its own or
// among all, whichever is free first. The function frees it; where there is none it is nil, and full says what
// has no room.
func (s *served) enter() (free func(), full string) {
	ctx, cancel := context.WithTimeout(s.life, s.proxy.patience)
	defer cancel()
	if s.places.Acquire(ctx, 1) != nil {
		return nil, fmt.Sprintf("a session has %d", s.proxy.perSession)
	}
	taken := s.own
	select {
	case s.own <- struct{}{}: // before one of all
	default:
		select {
		case s.own <- struct{}{}:
		case s.proxy.places <- struct{}{}:
			taken = s.proxy.places
		case <-ctx.Done():
			s.places.Release(1)
			return nil, fmt.Sprintf("this session has %d, and no more are left for all sessions together", s.proxy.ofItsOwn)
		}
	}
	return func() {
		<-taken
		s.places.Release(1)
	}, ""
}

// turnAway answers a connection that there is no place for.
func turnAway(conn net.Conn, full string) {
	no := &refusal{status: http.StatusServiceUnavailable, text: "understudy: too many connections at once; " + full}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(no.response())
	_ = conn.Close()
}

// note logs a host's first refusal.
func (s *served) note(no *refusal) {
	s.mu.Lock()
	logged := s.refused[no.host] || len(s.refused) >= loggedHosts
	if !logged {
		s.refused[no.host] = true
	}
	s.mu.Unlock()
	if !logged {
		s.log.Info("egress: refused", "host", no.host, "why", no.text)
	}
}
