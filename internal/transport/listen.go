package transport

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// ListenSocket listens on a Unix socket that only its owner may use. A socket
// that a dead server left behind is removed first.
func ListenSocket(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	return listenPrivately(path)
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket: %w", err)
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("socket: %s is there and is no socket; remove it or choose another path", path)
	}
	conn, err := net.DialTimeout("unix", path, 5*time.Second)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("socket: another server answers at %s", path)
	case isRefused(err):
		return os.Remove(path)
	}
	// Its queue may be full, say: then somebody is there.
	return fmt.Errorf("socket: it can't be told whether a server is at %s; remove it if there is none: %w", path, err)
}

// bounded accepts no more connections at once than it may; more wait until one
// is closed.
func bounded(l net.Listener, most int) net.Listener {
	if most <= 0 {
		return l
	}
	return &boundedListener{
		Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}),
		each: max(1, most/addressShare), of: map[string]int{},
	}
}

type boundedListener struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}

	each int // how many one address may have
	mu   sync.Mutex
	of   map[string]int // by address
}

// addressShare is which part of the connections one address may have. This
// machine's own are exempt: a proxy on it brings everybody.
const addressShare = 4

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			<-l.places
			return nil, err
		}
		place := placeOf(conn.RemoteAddr())
		if !l.enter(place) {
			_ = conn.Close() // it has enough of them
			continue
		}
		return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() {
			l.exit(place)
			<-l.places
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

func (l *boundedListener) enter(place string) bool {
	if place == "" {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[place] >= l.each {
		return false
	}
	l.of[place]++
	return true
}

func (l *boundedListener) exit(place string) {
	if place == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[place]--; l.of[place] == 0 {
		delete(l.of, place)
	}
}

func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
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

	mu      sync.Mutex
	pair    *tls.Certificate
	text    [2][]byte // of the pair
	checked time.Time
}

// TLSConfig returns a configuration that serves the certificate in the two
// files, and their next one when they change. TLS 1.2 is the least.
func TLSConfig(cert, key string, log *slog.Logger) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key, log: log, every: certificateCheck}
	if _, err := c.load(); err != nil {
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
	if time.Since(c.checked) < c.every {
		return c.pair
	}
	if changed, err := c.load(); err != nil {
		c.log.Warn("the new certificate can't be used; the old one serves on", "error", err)
	} else if changed {
		c.log.Info("the certificate was replaced", "file", c.cert)
	}
	return c.pair
}

// load takes over the pair that is there, if it is a new one.
func (c *certificate) load() (changed bool, err error) {
	c.checked = time.Now()
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return false, fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return false, fmt.Errorf("reading the certificate: %w", err)
	}
	if bytes.Equal(cert, c.text[0]) && bytes.Equal(key, c.text[1]) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("reading the certificate: %w", err)
	}
	c.pair, c.text = &pair, [2][]byte{cert, key}
	return true, nil
}
