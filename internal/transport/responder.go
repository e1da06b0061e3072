package transport

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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
// keeps a silent stream of events alive. mcp-go and we write to it.
type responder struct {
	http.ResponseWriter
	clock     *http.ResponseController
	oneByOne  bool // HTTP/1: the connection has one response at a time
	reading   time.Duration
	heartbeat time.Duration
	// header is what handlers write to: the real one may be sent at any moment
	// by who notifies.
	header http.Header
	notes  *notes        // of the call that is answered, nil for most requests
	alias  *alias        // of the id of the request that is answered, nil for most
	code   *atomic.Int32 // of the error that answers that request, nil without one
	begun  chan struct{} // closed when the answer has begun

	mu     sync.Mutex
	status int
	sent   int64
	beat   *time.Timer
	ended  bool
}

func newResponder(w http.ResponseWriter, r *http.Request, o *HTTPOptions) *responder {
	return &responder{
		ResponseWriter: w, clock: http.NewResponseController(w), oneByOne: r.ProtoMajor == 1,
		reading: o.reading, heartbeat: o.heartbeat, header: http.Header{}, begun: make(chan struct{}),
	}
}

// Header is that of the answer.
func (w *responder) Header() http.Header {
	w.settle()
	return w.header
}

// settle lets the notifications of a call go ahead of its answer.
func (w *responder) settle() {
	if w.notes != nil {
		w.notes.settled()
	}
}

// note gives the answer to come a queue of notifications. The headers are
// fixed now, but for those of the kind of answer.
func (w *responder) note() *notes {
	maps.Copy(w.ResponseWriter.Header(), w.header)
	w.notes = newNotes(w)
	return w.notes
}

// Unwrap is for http.ResponseController.
func (w *responder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the answer; one that is a stream begins to live.
func (w *responder) WriteHeader(status int) {
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(status, w.header)
}

// event writes an event of a stream, which it begins if need be.
func (w *responder) event(event []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.begin(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}})
	if w.beat == nil {
		return // the answer was no stream
	}
	w.beat.Reset(w.heartbeat)
	if _, err := w.write(w.mended(event)); err == nil {
		_ = w.flush() // the next write says the same
	}
}

// mended is a message of mcp-go's with the id as the client wrote it, and the code of
// an error as the specification has it.
func (w *responder) mended(message []byte) []byte {
	if w.code != nil && w.code.Load() != 0 {
		message = withCode(message, w.code.Load())
	}
	return w.alias.restore(message)
}

func (w *responder) begin(status int, fields http.Header) {
	if w.status != 0 || w.ended {
		return
	}
	w.status = status
	defer close(w.begun)
	header := w.ResponseWriter.Header()
	maps.Copy(header, fields)
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
	w.settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return 0, http.ErrHandlerTimeout
	}
	w.begin(http.StatusOK, w.header)
	if w.beat != nil {
		w.beat.Reset(w.heartbeat)
	}
	if _, err := w.write(w.mended(p)); err != nil {
		return 0, err
	}
	return len(p), nil
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

// Flush sends what was written.
func (w *responder) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.begin(http.StatusOK, w.header)
		_ = w.flush() // the next write says the same
	}
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
