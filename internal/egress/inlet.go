package egress

import (
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
}

func newInlet(conn net.Conn, idle time.Duration, free func()) *inlet {
	in := &inlet{Conn: conn, idle: idle, free: free}
	in.timer = time.AfterFunc(idle, func() { _ = in.Conn.Close() }) // who uses it finds it closed
	return in
}

func (in *inlet) Read(b []byte) (int, error) {
	n, err := in.Conn.Read(b)
	in.moved(n)
	return n, err
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

// CloseWrite ends one direction.
func (in *inlet) CloseWrite() error {
	if half, ok := in.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return in.Close()
}
