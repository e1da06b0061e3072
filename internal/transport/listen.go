package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// bounded accepts no more connections at once than it may; more wait until one
// is closed.
func bounded(l net.Listener, most int) net.Listener {
	if most <= 0 {
		return l
	}
	b := &boundedListener{Listener: l, places: semaphore.NewWeighted(int64(most)), each: max(1, most/addressShare), of: map[string]int{}}
	b.open, b.end = context.WithCancel(context.Background())
	return b
}

type boundedListener struct {
	net.Listener
	places *semaphore.Weighted
	open   context.Context // ends with the listener
	end    context.CancelFunc

	each int // how many one address may have
	mu   sync.Mutex
	of   map[string]int // by address
}

// addressShare is which part of the connections one address may have. This
// machine's own are exempt: a proxy on it brings everybody.
const addressShare = 4

func (l *boundedListener) Accept() (net.Conn, error) {
	if l.places.Acquire(l.open, 1) != nil {
		return nil, net.ErrClosed
	}
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			l.places.Release(1)
			return nil, err
		}
		place := placeOf(conn.RemoteAddr())
		if !l.count(place, 1) {
			_ = conn.Close() // it has enough of them
			continue
		}
		return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() {
			l.count(place, -1)
			l.places.Release(1)
		})}, nil
	}
}

// placeOf is where a connection comes from, "" for this machine.
func placeOf(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return ""
	}
	return network(tcp.AddrPort().Addr())
}

// count adds to the connections of a place, if it may have so many.
func (l *boundedListener) count(place string, more int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.of[place] + more
	if place != "" && now > l.each {
		return false
	}
	if l.of[place] = now; now == 0 {
		delete(l.of, place)
	}
	return true
}

func (l *boundedListener) Close() error {
	l.end()
	return l.Listener.Close()
}

type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}

// certificateCheck is how often the files are looked at, at most.
const certificateCheck = 5 * time.Second

// certificate is a pair of files that may be replaced while the server runs.
type certificate struct {
	cert, key string
	log       *slog.Logger
	every     time.Duration

	mu     sync.Mutex
	pair   *tls.Certificate
	looked time.Time
}

// TLSConfig returns a configuration that serves the certificate in the two
// files, and their next one when they change. TLS 1.2 is the least.
func TLSConfig(cert, key string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key, log: log, every: certificateCheck}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}, nil
}

// current returns the newest certificate that could be read. While one file is new and
// the other not yet, they don't fit together: the old pair serves until the next look.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= c.every {
		if err := c.load(); err != nil {
			c.log.Warn("the new certificate can't be used; the old one serves on", "error", err)
		}
	}
	return c.pair
}

func (c *certificate) load() error {
	c.looked = time.Now()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	c.pair = &pair
	return nil
}
