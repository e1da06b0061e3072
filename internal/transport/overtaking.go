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

// arrivals are the requests of one client that are being handled, and the
// cancellations that have overtaken theirs: each message has a connection of its
// own, and on a busy machine the later one may be read first. A cancellation that
// was passed over would leave its code running for nobody.
type arrivals struct {
	mu    sync.Mutex
	open  map[string]int       // by the id of the request
	early map[string]time.Time // when their cancellation came
}

// begin notes a request until end is called; false when it was cancelled already.
func (a *arrivals) begin(id string) (end func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	came, cancelled := a.early[id]
	delete(a.early, id)
	if cancelled && time.Since(came) < earlyFor {
		return nil, false
	}
	if a.open == nil {
		a.open = map[string]int{}
	}
	a.open[id]++
	return func() { a.end(id) }, true
}

func (a *arrivals) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id]--; a.open[id] == 0 {
		delete(a.open, id)
	}
}

// cancelled notes a cancellation. One of a request that is being handled is not
// remembered: a client may use the id again.
func (a *arrivals) cancelled(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id] > 0 {
		return
	}
	for old, came := range a.early {
		if time.Since(came) >= earlyFor {
			delete(a.early, old)
		}
	}
	if len(a.early) >= maxEarly {
		return
	}
	if a.early == nil {
		a.early = map[string]time.Time{}
	}
	a.early[id] = time.Now()
}
