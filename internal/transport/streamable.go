package transport

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const mcpSession = server.HeaderKeySessionID

// post takes a message, or several of them, over streamable HTTP.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	body, release, ok := h.bodies.read(w, r)
	if !ok {
		return
	}
	defer release()
	if isBatch(body) {
		h.postBatch(w, r, body)
		return
	}
	h.postMessage(w, r, body)
}

// postMessage takes one message that was read.
func (h *HTTP) postMessage(w http.ResponseWriter, r *http.Request, body []byte) {
	m, err := parse(body)
	noteMessage(r, m, len(body))
	switch {
	case err != nil:
		refuseUnread(w, err)
	case m.Method == string(mcp.MethodInitialize) && !m.isModern(r.Header):
		h.postInitialize(w, r, m, body)
	case m.isModern(r.Header) || r.Header.Get(mcpSession) == "":
		h.postAlone(w, r, m, body)
	default:
		h.postInSession(w, r, m, body)
	}
}

// postInitialize opens a session of an older era.
func (h *HTTP) postInitialize(w http.ResponseWriter, r *http.Request, m message, body []byte) {
	caller := CallerFrom(r.Context())
	if !h.admit(context.WithoutCancel(r.Context())) {
		busy(w, m, "too many clients are connected; try again later")
		return
	}
	end, ok := h.begin(w, r, m, caller)
	if !ok {
		return
	}
	defer end()
	s := newSession(context.Background(), newSessionID(r), h.log)
	s.Initialize()
	ctx := WithCaller(r.Context(), caller.ofSession(s.id))
	answer, code := s.handle(h.mcp.WithContext(ctx, s), h.mcp, m, body)
	switch {
	case answer == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case code == 0:
		h.peers.add(caller.Principal, ownerOf(r, caller.Principal), s, false)
		if err := h.mcp.RegisterSession(context.WithoutCancel(ctx), s); err != nil {
			h.log.Error("opening an MCP session", "error", err)
		}
		w.Header().Set(mcpSession, s.id)
	}
	writeJSON(w, http.StatusOK, answer)
}

// newSessionID is the id of a session that the request opens. A gateway in front of several
// servers finds the session's again by what it has it begin with.
func newSessionID(r *http.Request) string {
	if prefix := r.Header.Get(HeaderSession); sessionKey.MatchString(prefix) {
		return prefix + "." + rand.Text()
	}
	return rand.Text()
}

// postInSession takes a message of an older era. That its connection is lost is no wish
// to cancel.
func (h *HTTP) postInSession(w http.ResponseWriter, r *http.Request, m message, body []byte) {
	one, leave, ok := h.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	if c := h.take(context.WithoutCancel(r.Context()), w, r, one, m, body); c != nil {
		defer c.end()
		defer context.AfterFunc(r.Context(), func() { c.cancel(errDropped) })()
		s := one.session.apart()
		h.answer(c.ctx, w, s, s, m, body, true)
	}
}

// call is a request of a session.
type call struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	forget func() (cancelled bool) // it can't be cancelled any more
	end    func()
}

// take handles a message of a session of an older era in ctx, and answers that it is
// accepted. A request it returns, and handling that is the caller's.
func (h *HTTP) take(ctx context.Context, w http.ResponseWriter, r *http.Request, one *peer, m message, body []byte) *call {
	caller := exchangeFrom(r.Context()).Caller.of(m)
	ctx, cancel := context.WithCancelCause(WithCaller(ctx, caller))
	c := &call{ctx: ctx, cancel: cancel, forget: func() bool { return false }}
	if m.isRequest() {
		forget, ok := one.calls.begin(string(m.ID), func() { cancel(context.Canceled) })
		if !ok {
			cancel(nil)
			refuseMessage(w, m.ID, http.StatusOK, "the request was cancelled before it came; nothing was done")
			return nil
		}
		c.forget = forget
	}
	done, ok := h.begin(w, r, m, caller)
	if !ok {
		c.forget()
		cancel(nil)
		return nil
	}
	c.end = func() {
		c.forget()
		cancel(errDropped)
		done()
	}
	switch s := one.session; {
	case m.isRequest():
		return c
	case m.isAnswer():
		s.deliver(m)
	case m.isCancellation():
		one.calls.cancelEarly(m.cancelled)
	default:
		s.handle(h.mcp.WithContext(ctx, s), h.mcp, m, body) // what comes after a notification may build on it
	}
	c.end()
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// answer has a request handled, and answers with one message, or with a stream of
// events when there is something to tell before and the client takes it. As is how
// mcp-go sees the session.
func (h *HTTP) answer(
	ctx context.Context, w http.ResponseWriter, s *session, as server.ClientSession,
	m message, body []byte, takesEvents bool,
) {
	began := false
	event := func(text []byte) {
		if !takesEvents {
			return
		}
		if !began {
			began = true
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = w.Write(Event(text)) // a client that is gone ends ctx
		_ = http.NewResponseController(w).Flush()
	}
	answer, code := s.converse(ctx, h.mcp, as, m, body, event)
	switch {
	case began:
		event(answer)
	case mcp.IsModernProtocol(m.version):
		writeJSON(w, statusOf(code), answer)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

// Event is a message as a stream of events carries it.
func Event(text []byte) []byte {
	return slices.Concat([]byte("event: message\ndata: "), text, []byte("\n\n"))
}

// listen is the stream over which a client of an older era is told what belongs
// to none of its requests.
func (h *HTTP) listen(w http.ResponseWriter, r *http.Request) {
	one, leave, ok := h.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	end, ok := h.begin(w, r, aStream, exchangeFrom(r.Context()).Caller)
	if !ok {
		return
	}
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	h.tell(w, r, one.session)
}

// tell writes what a client is told until it is gone, or the server stops.
func (h *HTTP) tell(w http.ResponseWriter, r *http.Request, s *session) {
	ctx, cancel := h.work.streaming(r.Context())
	defer cancel()
	flusher := http.NewResponseController(w)
	for ok := true; ok && flusher.Flush() == nil; {
		var texts [][]byte
		texts, ok = s.next(ctx)
		if !ok && r.Context().Err() == nil { // else the session's next stream tells what is left
			texts = s.pending()
		}
		for _, text := range texts {
			if _, err := w.Write(Event(text)); err != nil {
				return
			}
		}
	}
}

// goodbye ends the session of a client of an older era.
func (h *HTTP) goodbye(w http.ResponseWriter, r *http.Request) {
	one, leave, ok := h.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	if !h.peers.remove(one) {
		http.Error(w, "there is no such session any more", http.StatusNotFound)
		return
	}
	h.mcp.UnregisterSession(r.Context(), one.session.id)
	w.WriteHeader(http.StatusOK)
	h.left(exchangeFrom(r.Context()).Caller, true)
}

// enter finds the session that a request of an older era names, which is in use
// until leave is called. Otherwise it has answered the request.
func (h *HTTP) enter(w http.ResponseWriter, r *http.Request) (one *peer, leave func(), ok bool) {
	caller, id := CallerFrom(r.Context()), r.Header.Get(mcpSession)
	if !namesSession(w, r) {
		return nil, nil, false
	}
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		http.Error(w, "this version of the protocol is not supported", http.StatusBadRequest)
		return nil, nil, false
	}
	one, leave = h.peers.enter(id, caller.Principal)
	if one == nil || one.isSSE {
		leave()
		http.Error(w, "there is no such session; initialize a new one", http.StatusNotFound)
		return nil, nil, false
	}
	exchangeFrom(r.Context()).Caller = caller.ofSession(id)
	return one, leave, true
}

// namesSession reports whether a request that needs a session of an older era names one.
// Otherwise it has answered the request.
func namesSession(w http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get(mcpSession)
	switch {
	case r.Method != http.MethodPost && mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)):
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this version of the protocol has no sessions and only POST; subscriptions/listen is its stream", http.StatusMethodNotAllowed)
	case id == "" && r.Method == http.MethodGet: // what clients take for: there is no such stream, and go on without
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "the header "+mcpSession+" is missing; only a session has such a stream", http.StatusMethodNotAllowed)
	case id == "":
		http.Error(w, "the header "+mcpSession+" is missing; initialize a session first", http.StatusBadRequest)
	default:
		return true
	}
	return false
}

// begin counts a message of the caller's until end is called. Otherwise it has
// answered the request.
func (h *HTTP) begin(w http.ResponseWriter, r *http.Request, m message, caller Caller) (end func(), ok bool) {
	exchangeFrom(r.Context()).Caller = caller
	if m.isAnswer() || m.isCancellation() {
		return func() {}, true // it ends what is open; refused it would be lost
	}
	if !m.isRequest() {
		if refusal := h.limits.pass(meteredAs(caller, r)); refusal != "" {
			refusal.answer(w, nil)
			return nil, false
		}
		return func() {}, true
	}
	if h.work.isStopping() {
		stopping(w, m)
		return nil, false
	}
	leave, refusal := h.limits.begin(meteredAs(caller, r), m.isListening())
	if refusal != "" {
		refusal.answer(w, m.ID)
		return nil, false
	}
	if m.isListening() {
		return leave, true
	}
	done, ok := h.work.begin()
	if !ok { // since right now
		leave()
		stopping(w, m)
		return nil, false
	}
	return func() {
		done()
		leave()
	}, true
}
