package transport

import (
	"sync"
	"time"
)

const (
	// earlyFor is how long a cancellation is remembered that came before its request.
	earlyFor = 10 * time.Second
	// maxEarly is how many of them a client may have.
	maxEarly = 64
)

// inflight are the requests of one client that are being handled, by their id as
// it was sent. A request is in it before any later message of its client is read,
// so that a cancellation always finds it: mcp-go knows a request only once its
// handling has begun, and loses what comes before.
type inflight struct {
	mu    sync.Mutex
	open  map[string]*inflightCall
	early map[string]time.Time // cancellations that came before their request
}

// inflightCall is one request that is being handled.
type inflightCall struct {
	of        *inflight
	id        string
	cancelled bool
	cancel    func() // nil until its handling can be cancelled
}

// begin notes a request; nil when it was cancelled before it came.
func (f *inflight) begin(id string) *inflightCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	came, cancelled := f.early[id]
	delete(f.early, id)
	if cancelled && time.Since(came) < earlyFor {
		return nil
	}
	if f.open == nil {
		f.open = map[string]*inflightCall{}
	}
	c := &inflightCall{of: f, id: id}
	f.open[id] = c // a client that uses an id twice at once can cancel the later one
	return c
}

// onCancel has cancel called once when the client cancels the request: now if it
// has.
func (c *inflightCall) onCancel(cancel func()) {
	c.of.mu.Lock()
	c.cancel = cancel
	cancelled := c.cancelled
	c.of.mu.Unlock()
	if cancelled {
		cancel()
	}
}

// end forgets the request. It reports whether the client had cancelled it, and so
// expects no answer.
func (c *inflightCall) end() (cancelled bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.of.open[c.id] == c {
		delete(c.of.open, c.id)
	}
	return c.cancelled
}

// cancel ends the request of that id. It reports whether there is one.
func (f *inflight) cancel(id string) bool {
	f.mu.Lock()
	c := f.open[id]
	var cancel func()
	if c != nil {
		c.cancelled, cancel = true, c.cancel
	}
	f.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return c != nil
}

// cancelEarly is cancel for a transport on which each message has a connection of
// its own, so that a cancellation may be read before its request: it is remembered
// for a while.
func (f *inflight) cancelEarly(id string) {
	if f.cancel(id) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for old, came := range f.early {
		if time.Since(came) >= earlyFor {
			delete(f.early, old)
		}
	}
	if len(f.early) >= maxEarly {
		return
	}
	if f.early == nil {
		f.early = map[string]time.Time{}
	}
	f.early[id] = time.Now()
}

// count is how many requests are open.
func (f *inflight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}
