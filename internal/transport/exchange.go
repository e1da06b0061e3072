package transport

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Exchange is one request and its answer, for logs and counters. It holds
// nothing of what was said.
type Exchange struct {
	Method   string // of HTTP
	Route    string // the path if there is something, else ""
	RPC      string // the method of JSON-RPC, "" if there is none or it is unknown
	Status   int
	Received int64 // bytes of the body
	Sent     int64 // bytes of the answer's body
	Duration time.Duration
	Caller   Caller
	Address  string // where the request came from

	forwarded bool // by a proxy
}

type exchangeKey struct{}

// exchangeFrom returns what is known of the request so far; handlers add to it.
func exchangeFrom(ctx context.Context) *Exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return e
	}
	return &Exchange{}
}

// noteMessage adds what was asked to what is told of the request.
func noteMessage(r *http.Request, m message, size int) {
	e := exchangeFrom(r.Context())
	e.Received = int64(size)
	if isKnown(m.Method) {
		e.RPC = m.Method
	}
}

// observed is around every request: it gives it a response that keeps time, and
// tells of it when it has ended.
func (h *HTTP) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		response := newResponder(w, r, &h.options)
		if r.ContentLength != 0 { // also for bodies that nobody reads
			_ = response.clock.SetReadDeadline(began.Add(h.options.sending))
		}
		e := &Exchange{Method: r.Method, Address: address(r), forwarded: isForwarded(r)}
		defer func() {
			whole := h.recovered(recover(), response, r)
			response.end()
			if h.options.Observe != nil {
				e.Status, e.Sent, e.Duration = response.status, response.sent, time.Since(began)
				h.options.Observe(*e)
			}
			if !whole {
				panic(http.ErrAbortHandler) // the client must not take it for the end
			}
		}()
		next.ServeHTTP(response, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)))
	})
}

// recovered keeps a fault of a handler from ending the connection without a
// word. It returns false when an answer had begun, which is to be broken off.
func (h *HTTP) recovered(fault any, w *responder, r *http.Request) (whole bool) {
	if fault == nil {
		return true
	}
	h.log.Error("a request made the server panic", "method", r.Method, "path", r.URL.Path, "panic", fault, "stack", string(debug.Stack()))
	if w.hasBegun() {
		return false
	}
	http.Error(w, "internal error", http.StatusInternalServerError)
	return true
}

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
