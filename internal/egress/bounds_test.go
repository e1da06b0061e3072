package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// echo is a server at example.com:7 that a tunnel can be held open to.
func (w *world) echo(t *testing.T) {
	t.Helper()
	w.server(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

// server has each connection to example.com:7 handled, and closed then.
func (w *world) server(t *testing.T, handle func(net.Conn)) {
	t.Helper()
	l := listen(t)
	w.has("example.com", outside)
	w.puts(netip.AddrPortFrom(outside, 7), l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				handle(conn)
				_ = conn.Close()
			}()
		}
	}()
}

// goes reports whether a tunnel to echo works.
func goes(conn net.Conn) error {
	if _, err := io.WriteString(conn, "ping\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && line != "ping\n" {
		err = fmt.Errorf("got %q", line)
	}
	return err
}

// ended waits for the end of a connection.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := io.Copy(io.Discard, conn)
	timeout, ok := err.(net.Error)
	expect(t, n <= 0 && (!ok || !timeout.Timeout()), "%d bytes, %v", n, err)
}

// TestConnectionsAreBounded, those of one session and those of all.
func TestConnectionsAreBounded(t *testing.T) {
	for name, bound := range map[string]func(*Proxy){
		"session": func(p *Proxy) { p.perSession = 2 },
		"all":     func(p *Proxy) { p.ofItsOwn = 1; p.places = make(chan struct{}, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			w := beginWith(t, Options{Hosts: []string{"example.com:7"}}, func(p *Proxy) { p.patience = 10 * time.Millisecond; bound(p) })
			w.echo(t)
			one, two := w.tunnel(t, "example.com:7"), w.tunnel(t, "example.com:7")
			// It is turned away before it has said a word.
			answer, err := io.ReadAll(w.connect(t, ""))
			expect(t, err == nil && strings.HasPrefix(string(answer), "HTTP/1.1 503 understudy: too many connections at once"), "%q, %v", answer, err)
			for _, still := range []net.Conn{one, two} {
				err := goes(still)
				expect(t, err == nil, "%v", err)
			}
		})
	}
}

// TestEachSessionHasPlacesOfItsOwn: others that keep all there are don't keep it out.
func TestEachSessionHasPlacesOfItsOwn(t *testing.T) {
	w := beginWith(t, Options{Hosts: []string{"example.com:7"}}, func(p *Proxy) {
		p.patience, p.ofItsOwn, p.places = 10*time.Millisecond, 1, make(chan struct{}, 2)
	})
	w.echo(t)
	for range 3 {
		w.tunnel(t, "example.com:7")
	}
	if answer, err := io.ReadAll(w.connect(t, "")); err != nil || !strings.Contains(string(answer), "; this session has 1, and no more are left for all sessions together") {
		t.Errorf("%q, %v", answer, err)
	}
	w.addr = w.serve(t).Addr().String()
	err := goes(w.tunnel(t, "example.com:7"))
	expect(t, err == nil, "%v", err)
}

// TestAPlaceIsWaitedFor: who has more connections than there are places gets one
// when another ends.
func TestAPlaceIsWaitedFor(t *testing.T) {
	w := beginWith(t, Options{Hosts: []string{"example.com:7"}}, func(p *Proxy) { p.perSession = 1; p.patience = time.Hour })
	w.echo(t)
	for range 5 {
		conn := w.tunnel(t, "example.com:7")
		must(t, goes(conn))
		_ = conn.Close()
	}
}

// TestAPlaceOfItsOwnIsWaitedFor: it serves the next connection while others keep all
// that there are.
func TestAPlaceOfItsOwnIsWaitedFor(t *testing.T) {
	w := beginWith(t, Options{Hosts: []string{"example.com:7"}}, func(p *Proxy) {
		p.patience, p.ofItsOwn, p.places = time.Hour, 1, make(chan struct{}, 1)
		p.places <- struct{}{} // another session's
	})
	w.echo(t)
	first := w.tunnel(t, "example.com:7")
	next := w.connect(t, "CONNECT example.com:7 HTTP/1.1\r\nHost: example.com:7\r\n\r\n")
	_ = next.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	n, err := next.Read(make([]byte, 1))
	insist(t, n <= 0 && err != nil, "it is served though there is no place")
	_ = first.Close()
	_ = next.SetReadDeadline(time.Now().Add(10 * time.Second))
	if answer, err := bufio.NewReader(next).ReadString('\n'); err != nil || !strings.Contains(answer, " 200 ") {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestIdleConnectionsEnd, and bytes have their time begin anew.
func TestIdleConnectionsEnd(t *testing.T) {
	one, other := net.Pipe()
	in := newInlet(t.Context(), one, time.Hour, func() {})
	defer in.Close()
	go func() { _, _ = other.Write([]byte("x")) }()
	_, err := in.Read(make([]byte, 1))
	expect(t, err == nil && in.timer.Stop(), "the timer does not run, %v", err)
	in.moved(1) // a timer that has stopped stays so
	expect(t, !in.timer.Stop(), "it runs again")
	in.timer.Reset(0)
	ended(t, other)
}

// TestTheListenerEndsItsConnections, tunnels too, and no others.
func TestTheListenerEndsItsConnections(t *testing.T) {
	w := begin(t, "example.com:7")
	w.echo(t)
	staying := w.tunnel(t, "example.com:7")
	l := w.serve(t)
	other := &world{addr: l.Addr().String()}
	tunnel := other.tunnel(t, "example.com:7")
	silent := other.connect(t, "")
	must(t, goes(tunnel))
	_ = l.Close()
	ended(t, tunnel)
	ended(t, silent)
	err := goes(staying)
	expect(t, err == nil, "%v", err)
}

// TestRelease ends what has the name, and nothing else.
func TestRelease(t *testing.T) {
	w := begin(t, "example.com:7")
	w.echo(t)
	l := listen(t)
	w.proxy.Serve("bob", l)
	ann, bob := w.tunnel(t, "example.com:7"), (&world{addr: l.Addr().String()}).tunnel(t, "example.com:7")
	w.proxy.Release("ann")
	ended(t, ann)
	err := goes(bob)
	expect(t, err == nil, "%v", err)
	if conn, err := net.Dial("tcp", w.addr); err == nil {
		_, err = conn.Read(make([]byte, 1)) // it may have been in the queue
		if conn.Close(); err == nil {
			t.Error("it is served still")
		}
	}
	w.proxy.Release("nobody")
	(*Proxy)(nil).Release("ann")
}

// TestNobodyIsServedAfterRelease: not even who comes before the listener is closed.
func TestNobodyIsServedAfterRelease(t *testing.T) {
	l := listen(t)
	s := newServed(begin(t).proxy, "bob", l)
	s.endLife()
	(&world{addr: l.Addr().String()}).connect(t, "")
	got, err := s.Accept()
	expect(t, errors.Is(err, net.ErrClosed), "%v, %v", got, err)
}

func TestClose(t *testing.T) {
	w := begin(t, "example.com:7")
	w.echo(t)
	tunnel := w.tunnel(t, "example.com:7")
	w.proxy.Close()
	ended(t, tunnel)
	l := w.serve(t)
	if conn, err := l.Accept(); err == nil {
		t.Error("a listener that came late is open", conn.Close())
	}
	w.proxy.Close()
	(*Proxy)(nil).Close()
}

// TestRefusalsAreLoggedOnce for each host, and not without bound.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	w := begin(t, "pypi.org")
	client := w.client(t)
	for i := range 2 * loggedHosts {
		for _, host := range []string{"evil.net", fmt.Sprintf("h%d.evil.net", i)} {
			response, err := client.Get("http://" + host + "/")
			insist(t, err == nil && response.StatusCode == http.StatusForbidden, "%v %v", response, err)
			_ = response.Body.Close()
		}
	}
	log := w.logged()
	n := strings.Count(log, "host=evil.net:80 ")
	expect(t, n == 1 && strings.Count(log, "\n") == loggedHosts && strings.Contains(log, "session=ann"), "logged %d times:\n%.500s", n, log)
}
