package egress

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// inlet is a connection from a session. It is closed after a while without a byte in
// either direction: a timer for each direction alone would end long downloads.
type inlet struct {
	net.Conn
	idle  time.Duration
	timer *time.Timer
	free  func() // its place is free again
	once  sync.Once
	err   error // of Close

	// tunnel is set before the first byte of a tunnel is read; begin is what was
	// read of it to check it.
	tunnel *tunnel
	begin  bytes.Reader
}

// tunnel says what must be at the beginning of one.
type tunnel struct {
	target target
	no     func(*refusal)
}

func newInlet(conn net.Conn, idle time.Duration, free func()) *inlet {
	in := &inlet{Conn: conn, idle: idle, free: free}
	in.timer = time.AfterFunc(idle, func() { _ = in.Conn.Close() }) // who uses it finds it closed
	return in
}

// Read is by one goroutine at a time.
func (in *inlet) Read(b []byte) (int, error) {
	if t := in.tunnel; t != nil {
		in.tunnel = nil
		if err := in.check(t); err != nil {
			return 0, err
		}
	}
	if in.begin.Len() > 0 {
		return in.begin.Read(b)
	}
	n, err := in.Conn.Read(b)
	in.moved(n)
	return n, err
}

// check reads the beginning of a tunnel. What it refuses it answers itself, as the
// client waits for TLS.
func (in *inlet) check(t *tunnel) error {
	begin, answer, err := checkHello(in.Conn, t.target)
	var no *refusal
	if errors.As(err, &no) {
		t.no(no) // first, so that whoever has the answer finds it logged
		_, _ = in.Conn.Write(answer)
	}
	in.begin.Reset(begin)
	in.moved(len(begin))
	return err
}

func (in *inlet) Write(b []byte) (int, error) {
	n, err := in.Conn.Write(b)
	in.moved(n)
	return n, err
}

func (in *inlet) moved(n int) {
	// A timer that has fired is left alone: the connection is closed.
	if n > 0 && in.timer.Stop() {
		in.timer.Reset(in.idle)
	}
}

// Close may be called by several.
func (in *inlet) Close() error {
	in.once.Do(func() {
		in.timer.Stop()
		in.err = in.Conn.Close()
		in.free()
	})
	return in.err
}

// CloseWrite and CloseRead are what goproxy passes on a half-closed connection with.
func (in *inlet) CloseWrite() error {
	if half, ok := in.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return in.Close()
}

// CloseRead is the other half.
func (in *inlet) CloseRead() error {
	if half, ok := in.Conn.(interface{ CloseRead() error }); ok {
		return half.CloseRead()
	}
	return in.Close()
}

var _ io.ReadWriteCloser = (*inlet)(nil)
