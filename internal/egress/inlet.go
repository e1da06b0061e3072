package egress

import (
	"context"
	"net"
	"sync"
	"time"
)

// inlet is a connection from a session. It is closed with the session's life, and after a
// while without a byte in either direction: a timer for each direction alone would end
// long downloads.
type inlet struct {
	net.Conn
	idle  time.Duration
	timer *time.Timer
	close func() error // once
}

// newInlet returns a connection that calls free when its place is free again.
func newInlet(life context.Context, conn net.Conn, idle time.Duration, free func()) *inlet {
	hangUp := func() { _ = conn.Close() } // who uses it finds it closed
	in := &inlet{Conn: conn, idle: idle, timer: time.AfterFunc(idle, hangUp)}
	forget := context.AfterFunc(life, hangUp)
	in.close = sync.OnceValue(func() error {
		in.timer.Stop()
		forget()
		defer free()
		return conn.Close()
	})
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
func (in *inlet) Close() error { return in.close() }

// CloseWrite ends one direction.
func (in *inlet) CloseWrite() error {
	if half, ok := in.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return in.Close()
}
