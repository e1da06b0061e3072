package transport

import (
	"context"
	"fmt"
	"net/http"
)

// HTTP with SSE is our own: mcp-go's lets any page in, does not notice that a
// client is gone, and can turn round the order of notifications and answers.

// openStream is the long GET of a client of SSE: what it is told travels here.
func (h *HTTP) openStream(w http.ResponseWriter, r *http.Request) {
	caller := CallerFrom(r.Context())
	if h.work.isStopping() {
		stopping(w, message{})
		return
	}
	if !h.admit(context.WithoutCancel(r.Context())) {
		busy(w, message{}, "too many clients are connected; try again later")
		return
	}
	end, refusal := h.limits.begin(meteredAs(caller, r), true)
	if refusal != nil {
		refusal.answer(w, nil)
		return
	}
	defer end()
	s := newStream(h.log)
	s.id = h.peers.add(caller.Principal, ownerOf(r, caller.Principal), s)
	caller = caller.ofSession(s.id)
	exchangeFrom(r.Context()).Caller = caller
	ctx, drop := context.WithCancelCause(WithCaller(context.WithoutCancel(r.Context()), caller))
	s.ctx = h.mcp.WithContext(ctx, s)
	s.open = s.ctx
	defer func() {
		h.peers.remove(s.id, caller.Principal)
		h.mcp.UnregisterSession(ctx, s.id)
		drop(errDropped)
		h.left(caller, false)
	}()
	if err := h.mcp.RegisterSession(ctx, s); err != nil {
		http.Error(w, "the stream could not be opened", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	reading, cancel := h.work.streaming(r.Context())
	defer cancel()
	s.send(reading, w)
}

// send writes what the client is told until it is gone.
func (s *stream) send(ctx context.Context, w http.ResponseWriter) {
	flusher := http.NewResponseController(w)
	_, err := fmt.Fprintf(w, "event: endpoint\ndata: %s?sessionId=%s\n\n", MessagePath, s.id)
	for err == nil {
		if err = flusher.Flush(); err != nil {
			return
		}
		text, ok := s.next(ctx)
		if !ok {
			return
		}
		_, err = w.Write(asEvent(text))
	}
}

// takeMessage takes one message of a client of SSE; the answer goes to its
// stream.
func (h *HTTP) takeMessage(w http.ResponseWriter, r *http.Request) {
	caller := CallerFrom(r.Context())
	one, leave := h.peers.enter(r.URL.Query().Get("sessionId"), caller.Principal)
	defer leave()
	if one == nil || one.stream == nil {
		http.Error(w, "there is no such session; open a new stream at "+SSEPath, http.StatusNotFound)
		return
	}
	caller = caller.ofSession(one.id)
	exchangeFrom(r.Context()).Caller = caller
	body, release, ok := h.bodies.read(w, r)
	if !ok {
		return
	}
	m, err := parse(body)
	noteMessage(r, m, len(body))
	if err != nil {
		release()
		refuseUnread(w, err)
		return
	}
	end, ok := h.begin(w, r, m, caller)
	if !ok {
		release()
		return
	}
	h.take(one, m, body, func() {
		end()
		release()
	})
	w.WriteHeader(http.StatusAccepted)
}

// take handles a message, a request in the background; end is called when it was.
func (h *HTTP) take(one *peer, m message, body []byte, end func()) {
	s := one.stream
	switch {
	case m.isAnswer():
		s.deliver(m)
		end()
	case m.cancelled != "":
		one.calls.cancelEarly(m.cancelled)
		end()
	case m.isRequest():
		call := one.calls.begin(string(m.ID))
		if call == nil { // nobody waits for an answer to what was cancelled
			end()
			return
		}
		ctx, cancel := context.WithCancel(WithCaller(s.ctx, CallerFrom(s.ctx).of(m)))
		call.onCancel(cancel)
		h.work.tasks.Go(func() {
			defer end()
			defer cancel()
			answer := s.handle(ctx, h.mcp, m, body)
			if cancelled := call.end(); answer != nil && !cancelled {
				s.answer(answer)
			}
		})
	default:
		s.handle(s.ctx, h.mcp, m, body) // what comes after a notification may build on it
		end()
	}
}
