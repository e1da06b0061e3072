package transport

import (
	"context"
	"crypto/rand"
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
	id := rand.Text()
	caller = caller.ofSession(id)
	exchangeFrom(r.Context()).Caller = caller
	ctx, drop := context.WithCancelCause(WithCaller(context.WithoutCancel(r.Context()), caller))
	s := newSession(ctx, id, h.log)
	if err := h.mcp.RegisterSession(ctx, s); err != nil {
		drop(err)
		http.Error(w, "the stream could not be opened", http.StatusInternalServerError)
		return
	}
	one := h.peers.add(caller.Principal, ownerOf(r, caller.Principal), s, true)
	defer func() {
		h.peers.remove(one)
		h.mcp.UnregisterSession(ctx, id)
		drop(errDropped)
		h.left(caller, false)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	if _, err := fmt.Fprintf(w, "event: endpoint\ndata: %s?sessionId=%s\n\n", MessagePath, id); err == nil {
		h.tell(w, r, s)
	}
}

// takeMessage takes one message of a client of SSE; the answer goes to its
// stream.
func (h *HTTP) takeMessage(w http.ResponseWriter, r *http.Request) {
	caller := CallerFrom(r.Context())
	one, leave := h.peers.enter(r.URL.Query().Get("sessionId"), caller.Principal)
	defer leave()
	if one == nil || !one.isSSE {
		http.Error(w, "there is no such session; open a new stream at "+SSEPath, http.StatusNotFound)
		return
	}
	caller = caller.ofSession(one.session.id)
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
	h.take(one, caller.of(m), m, body, func() {
		end()
		release()
	})
	w.WriteHeader(http.StatusAccepted)
}

// take handles a message, a request in the background; end is called when it was.
func (h *HTTP) take(one *peer, caller Caller, m message, body []byte, end func()) {
	s, ctx := one.session, WithCaller(one.session.open, caller)
	switch {
	case m.isAnswer():
		s.deliver(m)
	case m.isCancellation():
		one.calls.cancelEarly(m.cancelled)
	case m.isRequest():
		ctx, cancel := context.WithCancel(ctx)
		forget, ok := one.calls.begin(string(m.ID), cancel)
		if !ok { // nobody waits for an answer to what was cancelled
			cancel()
			break
		}
		h.work.tasks.Go(func() {
			defer end()
			defer cancel()
			answer := s.respond(ctx, h.mcp, m, body)
			if cancelled := forget(); !cancelled {
				s.put(s.open, answer)
			}
		})
		return
	default:
		s.handle(h.mcp.WithContext(ctx, s), h.mcp, m, body) // what comes after a notification may build on it
	}
	end()
}
