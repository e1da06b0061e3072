package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// TestMain lets net/http be where it has refused a head: its goroutine sleeps half a
// second before it closes that connection, whatever becomes of the server.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// outside is a public address, of a network that tests never reach: what is dialed
// there is a server of the test.
var outside = netip.MustParseAddr("93.184.216.34")

// world is what a proxy under test finds: names, servers and a log.
type world struct {
	proxy *Proxy
	addr  string // of the proxy's listener

	mu      sync.Mutex
	names   map[string][]netip.Addr
	servers map[netip.AddrPort]string // where the dialed place really is
	asked   []string                  // names that were resolved
	dialed  []netip.AddrPort
	log     bytes.Buffer
}

// begin serves a session named ann with a proxy for the hosts.
func begin(t *testing.T, hosts ...string) *world {
	t.Helper()
	return beginWith(t, Options{Hosts: hosts}, nil)
}

func beginWith(t *testing.T, o Options, change func(*Proxy)) *world {
	t.Helper()
	w := &world{names: map[string][]netip.Addr{}, servers: map[netip.AddrPort]string{}}
	o.Logger = slog.New(slog.NewTextHandler(w, nil))
	p, err := New(o)
	must(t, err)
	p.lookup, p.dial = w.lookup, w.dial
	if change != nil {
		change(p)
	}
	t.Cleanup(p.Close)
	w.proxy = p
	w.addr = w.serve(t).Addr().String()
	return w
}

// serve opens one more session.
func (w *world) serve(t *testing.T) net.Listener {
	t.Helper()
	l := listen(t)
	w.proxy.Serve("ann", l)
	return l
}

// connect is a connection to the proxy that has said something.
func (w *world) connect(t *testing.T, said string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, said)
	must(t, err)
	return conn
}

// listen listens where the system likes.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// has gives a name an address.
func (w *world) has(name string, addrs ...netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = addrs
}

// puts has a server of the test at a place.
func (w *world) puts(place netip.AddrPort, server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[place] = server
}

func (w *world) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	if addrs, ok := w.names[name]; ok {
		return addrs, nil
	}
	return nil, errors.New("no such host")
}

func (w *world) dial(ctx context.Context, place netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, place)
	server, ok := w.servers[place]
	w.mu.Unlock()
	if !ok {
		return nil, errors.New("connection refused at " + place.String())
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", server)
}

func (w *world) seen() (asked []string, dialed []netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...), append([]netip.AddrPort(nil), w.dialed...)
}

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// client is one that uses the proxy.
func (w *world) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr})}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
