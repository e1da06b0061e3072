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
	end, ok := h.begin(w, r, aStream, caller)
	if !ok {
		return
	}
	defer end()
	if !h.admit(context.WithoutCancel(r.Context())) {
		busy(w, message{}, "too many clients are connected; try again later")
		return
	}
	id := newSessionID(r)
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
	exchangeFrom(r.Context()).Caller = caller.ofSession(one.session.id)
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
	s := one.session
	c := h.take(s.open, w, r, one, m, body)
	if c == nil {
		release()
		return
	}
	h.work.tasks.Go(func() {
		defer release()
		defer c.end()
		answer := s.respond(c.ctx, h.mcp, m, body)
		if cancelled := c.forget(); !cancelled {
			s.put(s.open, answer)
		}
	})
	w.WriteHeader(http.StatusAccepted)
}
