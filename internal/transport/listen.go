package transport

import (
	"errors"
	"fmt"
	"io/fs"
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
	if conn, err := net.DialTimeout("unix", path, 5*time.Second); err == nil {
		_ = conn.Close()
		return fmt.Errorf("socket: another server answers at %s", path)
	}
	return os.Remove(path)
}

// bounded accepts no more connections at once than it may; more wait until one
// is closed.
func bounded(l net.Listener, most int) net.Listener {
	if most <= 0 {
		return l
	}
	return &boundedListener{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

type boundedListener struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &boundedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
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
