package transport

import (
	"context"
	"net/http"
	"runtime/debug"
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
