package transport

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// reading is how long a client may take for a piece of its answer.
	reading = 30 * time.Second
	// piece is how many bytes of an answer have that time together.
	piece = 64 << 10
	// heartbeat is how often a silent stream shows that it is alive: less than
	// the minute after which proxies close it.
	heartbeat = 20 * time.Second
)

// responder is a response that gives up a client which does not read, and that
// keeps a silent stream of events alive.
type responder struct {
	http.ResponseWriter
	clock     *http.ResponseController
	oneByOne  bool // HTTP/1: the connection has one response at a time
	reading   time.Duration
	heartbeat time.Duration

	mu     sync.Mutex
	status int
	sent   int64
	beat   *time.Timer // of a stream
	ended  bool
}

func newResponder(w http.ResponseWriter, r *http.Request, o *HTTPOptions) *responder {
	return &responder{
		ResponseWriter: w, clock: http.NewResponseController(w), oneByOne: r.ProtoMajor == 1,
		reading: o.reading, heartbeat: o.heartbeat,
	}
}

// Unwrap is for http.ResponseController.
func (w *responder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the answer; one that is a stream begins to live.
func (w *responder) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(status)
}

func (w *responder) begin(status int) {
	if w.status != 0 || w.ended {
		return
	}
	w.status = status
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		header.Set("Cache-Control", "no-cache, no-transform")
		header.Set("X-Accel-Buffering", "no") // nginx would hold events back
		w.beat = time.AfterFunc(w.heartbeat, w.showLife)
	} else if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "no-store")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responder) hasBegun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status != 0
}

// showLife writes a comment, which clients skip. Events are written whole, so it
// never falls into one. A client that does not take it is gone: the failed
// write ends its request.
func (w *responder) showLife() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if _, err := w.write([]byte(":\n\n")); err == nil && w.flush() == nil {
		w.beat.Reset(w.heartbeat)
	}
}

func (w *responder) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return 0, http.ErrHandlerTimeout
	}
	w.begin(http.StatusOK)
	if w.beat != nil {
		w.beat.Reset(w.heartbeat)
	}
	return w.write(p)
}

func (w *responder) write(p []byte) (written int, err error) {
	for {
		part := p[written:min(len(p), written+piece)]
		w.expect()
		n, err := w.ResponseWriter.Write(part)
		w.relax()
		written += n
		w.sent += int64(n)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError sends what was written.
func (w *responder) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return http.ErrHandlerTimeout
	}
	w.begin(http.StatusOK)
	return w.flush()
}

func (w *responder) flush() error {
	w.expect()
	defer w.relax()
	return w.clock.Flush()
}

// expect sets the time that a write has. Not every connection has deadlines.
func (w *responder) expect() { _ = w.clock.SetWriteDeadline(time.Now().Add(w.reading)) }

// relax takes it back: in HTTP/2 the deadline itself would end the stream.
func (w *responder) relax() { _ = w.clock.SetWriteDeadline(time.Time{}) }

// end closes the response to further writes; the server sends what is left.
func (w *responder) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.beat != nil {
		w.beat.Stop()
	}
	if w.oneByOne {
		w.expect()
	}
}
