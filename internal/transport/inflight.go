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
	cancel    func()
	cancelled bool
}

// begin notes a request, whose handling cancel ends, until end is called; that reports
// whether its client has cancelled it, and so expects no answer. It is false for a
// request that was cancelled before it came.
func (f *inflight) begin(id string, cancel func()) (end func() (cancelled bool), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	came, cancelled := f.early[id]
	delete(f.early, id)
	if cancelled && time.Since(came) < earlyFor {
		return nil, false
	}
	if f.open == nil {
		f.open = map[string]*inflightCall{}
	}
	c := &inflightCall{cancel: cancel}
	f.open[id] = c // a client that uses an id twice at once can cancel the later one
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.open[id] == c {
			delete(f.open, id)
		}
		return c.cancelled
	}, true
}

// cancel ends the request of that id. It reports whether there is one.
func (f *inflight) cancel(id string) bool {
	f.mu.Lock()
	c := f.open[id]
	if c != nil {
		c.cancelled = true
	}
	f.mu.Unlock()
	if c != nil {
		c.cancel()
	}
	return c != nil
}

// cancelEarly is cancel for a transport on which each message has a connection of
// its own, so that a cancellation may be read before its request: it is remembered
// for a while.
func (f *inflight) cancelEarly(id string) {
	if id == "" || f.cancel(id) {
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

// dropped is why the calls of a client end whose connection broke. Who handles
// them may ask their context for the cause, and let what runs go on.
type dropped struct{}

func (dropped) Error() string { return "the client's connection is gone" }

// Disconnected is true: nobody has cancelled anything.
func (dropped) Disconnected() bool { return true }

var errDropped error = dropped{}
