package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
)

// connection is what the HTTP requests of one customer go through.
type connection struct {
	through *http.Transport
	down    atomic.Bool  // nothing gets through any more
	calls   atomic.Int64 // the id of the last tool call that was posted
}

func newConnection(socket string) *connection {
	return &connection{through: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}
}

func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.down.Load() {
		return nil, errors.New("the network is down")
	}
	c.note(r)
	return c.through.RoundTrip(r)
}

// note keeps the id of a call, which the client tells nobody.
func (c *connection) note(r *http.Request) {
	if r.GetBody == nil {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		return
	}
	defer func() { _ = body.Close() }()
	var message struct {
		ID     int64
		Method string
	}
	if json.NewDecoder(body).Decode(&message) == nil && message.Method == "tools/call" {
		c.calls.Store(message.ID)
	}
}
