package transport

import (
	"context"
	"sync"
	"time"
)

// work is what the server is busy with: the calls that are being handled, and
// the streams that are open.
type work struct {
	mu       sync.Mutex
	calls    int
	idle     chan struct{} // closed when there is no call; made when somebody waits
	stopping bool

	streams    context.Context // ends when all streams shall
	endStreams context.CancelFunc
	tasks      sync.WaitGroup // goroutines that handle messages of SSE
}

func newWork() *work {
	w := &work{}
	w.streams, w.endStreams = context.WithCancel(context.Background())
	return w
}

// begin counts a call until end is called; false when the server is stopping.
func (w *work) begin() (end func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return nil, false
	}
	w.calls++
	return sync.OnceFunc(w.end), true
}

func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls--
	if w.calls == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// stop lets no further call begin, and returns how many there are.
func (w *work) stop() (calls int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	return w.calls
}

func (w *work) isStopping() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping
}

// wait returns true when all calls have ended, false when that takes too long.
func (w *work) wait(patience time.Duration) bool {
	w.mu.Lock()
	if w.calls == 0 {
		w.mu.Unlock()
		return true
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}

// streaming returns a context for a stream: it ends with the request, and when
// the server stops.
func (w *work) streaming(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.streams, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
