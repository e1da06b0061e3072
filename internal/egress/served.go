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
		proxy: p, log: p.log.With("session", name), slots: make(chan struct{}, p.perSession),
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
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, inletKey{}, c) },
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
		if free := s.enter(); free != nil {
			return s.admit(conn, free), nil
		}
		turnAway(conn, s.proxy.perSession)
	}
}

// Close is for http.Server, and for who ends the session.
func (s *served) Close() (err error) {
	s.closing.Do(func() { err = s.Listener.Close() })
	return err
}

// enter waits for a place among the session's connections and among all; nil if
// there is none. The function frees it.
func (s *served) enter() func() {
	if !s.take(s.slots) {
		return nil
	}
	if !s.take(s.proxy.slots) {
		<-s.slots
		return nil
	}
	return func() {
		<-s.proxy.slots
		<-s.slots
	}
}

// take reports whether it got one of the slots in time.
func (s *served) take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}: // before any timer is asked
		return true
	default:
	}
	timeout := time.NewTimer(s.proxy.patience)
	defer timeout.Stop()
	select {
	case slots <- struct{}{}:
		return true
	case <-timeout.C:
		return false
	case <-s.life.Done():
		return false
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
func turnAway(conn net.Conn, most int) {
	no := &refusal{status: http.StatusServiceUnavailable,
		text: fmt.Sprintf("understudy: too many connections at once; a session has %d", most)}
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
