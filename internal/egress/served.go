package egress

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// served is one listener and all that came through it.
type served struct {
	proxy   *Proxy
	log     *slog.Logger
	slots   chan struct{} // one for each connection
	own     chan struct{} // one for each that takes no place of all, so that others can't keep it out
	refused tally

	net.Listener
	closing sync.Once
	life    context.Context // ends with the listener
	endLife context.CancelFunc
	mu      sync.Mutex
	inlets  map[*inlet]struct{}
}

func newServed(p *Proxy, name string, l net.Listener) *served {
	s := &served{
		proxy: p, log: p.log.With("session", name), slots: make(chan struct{}, p.perSession), own: make(chan struct{}, p.ofItsOwn),
		Listener: l, inlets: map[*inlet]struct{}{},
	}
	s.life, s.endLife = context.WithCancel(p.life)
	return s
}

// run answers until the listener is closed or the proxy is.
func (s *served) run() {
	defer context.AfterFunc(s.life, func() { _ = s.Close() })()
	h := newHandler(s)
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: heading, IdleTimeout: s.proxy.idle, MaxHeaderBytes: headBytes,
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return s.life },
	}
	err := server.Serve(s) // until the listener is closed
	s.endLife()
	_ = server.Close()
	s.closeInlets()
	h.close()
	hosts, times := s.refused.sum()
	s.log.Debug("egress: the listener is closed", "error", err)
	if times > hosts {
		s.log.Info("egress: refused", "hosts", hosts, "times", times)
	}
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
			return s.admit(conn, free), nil
		}
		turnAway(conn, full)
	}
}

// Close is for http.Server, and for who ends the session.
func (s *served) Close() (err error) {
	s.closing.Do(func() { err = s.Listener.Close() })
	return err
}

// enter waits for a place among the session's connections, and for one of its own or
// among all. The function frees it; where there is none it is nil, and full says what
// has no room.
func (s *served) enter() (free func(), full string) {
	if s.take(s.slots, nil) == nil {
		return nil, fmt.Sprintf("a session has %d", s.proxy.perSession)
	}
	taken := s.take(s.own, s.proxy.slots)
	if taken == nil {
		<-s.slots
		return nil, fmt.Sprintf("this session has %d, and no more are left for all sessions together", s.proxy.ofItsOwn)
	}
	return func() {
		<-taken
		<-s.slots
	}, ""
}

// take returns the slots of which it got one in time, nil if there was none.
func (s *served) take(first, second chan struct{}) chan struct{} {
	for _, slots := range []chan struct{}{first, second} {
		select {
		case slots <- struct{}{}: // before any timer is asked
			return slots
		default:
		}
	}
	timeout := time.NewTimer(s.proxy.patience)
	defer timeout.Stop()
	select {
	case first <- struct{}{}:
		return first
	case second <- struct{}{}: // never where it is nil
		return second
	case <-timeout.C:
		return nil
	case <-s.life.Done():
		return nil
	}
}

func (s *served) admit(conn net.Conn, free func()) *inlet {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in *inlet
	in = newInlet(conn, s.proxy.idle, func() {
		s.mu.Lock()
		delete(s.inlets, in)
		s.mu.Unlock()
		free()
	})
	s.inlets[in] = struct{}{}
	return in
}

// closeInlets ends the tunnels, too, which http.Server knows no more.
func (s *served) closeInlets() {
	s.mu.Lock()
	all := make([]*inlet, 0, len(s.inlets))
	for in := range s.inlets {
		all = append(all, in)
	}
	s.mu.Unlock()
	for _, in := range all {
		_ = in.Close()
	}
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
	if no.host == "" {
		s.log.Debug("egress: refused", "why", no.text)
	} else if s.refused.add(no.host) {
		s.log.Info("egress: refused", "host", no.host, "why", no.text)
	}
}

// response is a refusal as it goes over the wire. The sentence is the reason as well
// as the body: of a tunnel that is refused, Python and curl show the reason alone.
func (r *refusal) response() []byte {
	reason := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, r.text)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		r.status, reason, len(r.text)+1, r.text)
}
