package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const mcpSession = server.HeaderKeySessionID

func (h *HTTP) newStreamable() *server.StreamableHTTPServer {
	return server.NewStreamableHTTPServer(h.mcp,
		server.WithSessionIdManagerResolver(h.peers),
		server.WithHTTPContextFunc(h.streamableContext),
		server.WithStreamableHTTPLogger(slog.New(discreet{h.log.Handler()})),
		server.WithDisableLocalhostProtection(true), // the guard is stricter
	)
}

// streamableContext says who calls. mcp-go has decided the era by then: a
// request of the newest one has no session, and its connection's end cancels
// it. In the older eras a lost connection is no wish to cancel.
func (h *HTTP) streamableContext(ctx context.Context, _ *http.Request) context.Context {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return ctx
	}
	ctx = h.withAcknowledgement(h.withNotes(ctx, session), session)
	if session.SessionID() == "" {
		return ctx
	}
	detached, end := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { end(errDropped) }) // at the latest when it was handled
	if call, ok := ctx.Value(inflightKey{}).(*inflightCall); ok {
		call.onCancel(func() { end(context.Canceled) })
	}
	return WithCaller(detached, CallerFrom(ctx).ofSession(session.SessionID()))
}

// dropped is why the calls of a client end whose connection broke. Who handles
// them may ask their context for the cause, and let what runs go on.
type dropped struct{}

func (dropped) Error() string { return "the client's connection is gone" }

// Disconnected is true: nobody has cancelled anything.
func (dropped) Disconnected() bool { return true }

var errDropped error = dropped{}

// Dropped reports whether ctx ended because the client's connection was lost.
func Dropped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errDropped) }

// post takes a message, or several of them, over streamable HTTP.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	body, release, ok := h.bodies.read(w, r)
	if !ok {
		return
	}
	defer release()
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		h.postBatch(w, r, body)
		return
	}
	h.postMessage(w, r, body)
}

// postMessage takes one message that was read.
func (h *HTTP) postMessage(w http.ResponseWriter, r *http.Request, body []byte) {
	m, err := parse(body)
	noteMessage(r, m, len(body))
	if err != nil {
		refuseUnread(w, err)
		return
	}
	if !m.isModern(r.Header) && m.Method != string(mcp.MethodInitialize) && r.Header.Get(mcpSession) == "" {
		h.postWithoutSession(w, r, m, body)
		return
	}
	var caller Caller
	switch {
	case m.isModern(r.Header):
		if m.Method == methodCancelled && !m.isRequest() {
			// Without sessions mcp-go can't tell whose request is meant, and would
			// cancel any client's of that id. Clients of this era cancel by closing
			// the request's connection.
			w.WriteHeader(http.StatusAccepted)
			return
		}
		caller = h.withoutSession(r, m)
	case m.Method == string(mcp.MethodInitialize):
		caller = CallerFrom(r.Context())
		if !h.admit(context.WithoutCancel(r.Context())) {
			busy(w, m, "too many clients are connected; try again later")
			return
		}
	default:
		one, leave, ok := h.enter(w, r)
		if !ok {
			return
		}
		defer leave()
		caller = exchangeFrom(r.Context()).Caller.of(m)
		if m.cancelled != "" {
			one.calls.cancelEarly(m.cancelled)
		}
		if m.isRequest() {
			call := one.calls.begin(string(m.ID))
			if call == nil {
				refuseMessage(w, m.ID, http.StatusOK, "the request was cancelled before it came; nothing was done")
				return
			}
			defer call.end()
			r = r.WithContext(context.WithValue(r.Context(), inflightKey{}, call))
		}
	}
	exchangeFrom(r.Context()).Caller = caller
	r = r.WithContext(WithCaller(r.Context(), caller))
	end, ok := h.begin(w, r, m, caller)
	if !ok {
		return
	}
	defer end()
	if m.isListening() {
		ctx, cancel := h.work.streaming(r.Context())
		defer cancel()
		r = r.WithContext(context.WithValue(ctx, listeningKey{}, w))
	}
	if response, isOurs := w.(*responder); isOurs && m.isRequest() {
		ctx, code := watchCode(r.Context())
		body, response.alias = aliased(m, body)
		response.code = code
		if m.Method == string(mcp.MethodToolsCall) {
			notes := response.note()
			defer notes.end()
			ctx = context.WithValue(ctx, notesKey{}, notes)
		}
		r = r.WithContext(ctx)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.streamable.ServeHTTP(w, r)
}

// enter finds the session that a request of an older era names, which is in use
// until leave is called. Otherwise it has answered the request.
func (h *HTTP) enter(w http.ResponseWriter, r *http.Request) (one *peer, leave func(), ok bool) {
	caller := CallerFrom(r.Context())
	id := r.Header.Get(mcpSession)
	if id == "" && r.Method == http.MethodGet { // what clients take for: there is no such stream, and go on without
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "the header "+mcpSession+" is missing; only a session has such a stream", http.StatusMethodNotAllowed)
		return nil, nil, false
	}
	if id == "" {
		http.Error(w, "the header "+mcpSession+" is missing; initialize a session first", http.StatusBadRequest)
		return nil, nil, false
	}
	one, leave = h.peers.enter(id, caller.Principal)
	if one == nil || one.stream != nil {
		leave()
		http.Error(w, "there is no such session; initialize a new one", http.StatusNotFound)
		return nil, nil, false
	}
	exchangeFrom(r.Context()).Caller = caller.ofSession(id)
	return one, leave, true
}

type inflightKey struct{}

// begin counts a message of the caller's until end is called. Otherwise it has
// answered the request.
func (h *HTTP) begin(w http.ResponseWriter, r *http.Request, m message, caller Caller) (end func(), ok bool) {
	if m.isAnswer() || m.Method == methodCancelled && !m.isRequest() {
		return func() {}, true // it ends what is open; refused it would be lost
	}
	if !m.isRequest() {
		if refusal := h.limits.pass(meteredAs(caller, r)); refusal != nil {
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
	if refusal != nil {
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

func busy(w http.ResponseWriter, m message, text string) {
	w.Header().Set("Retry-After", "5")
	refuseMessage(w, m.ID, http.StatusServiceUnavailable, text)
}

// stopping refuses what would begin while the server stops. Its connection is
// given up, so that the next attempt may reach another server behind the same
// address.
func stopping(w http.ResponseWriter, m message) {
	w.Header().Set("Connection", "close")
	busy(w, m, "the server is stopping")
}

// noteMessage adds what was asked to what is told of the request.
func noteMessage(r *http.Request, m message, size int) {
	e := exchangeFrom(r.Context())
	e.Received = int64(size)
	if isKnown(m.Method) {
		e.RPC = m.Method
	}
}

// listen is the stream over which a client of an older era is told what belongs
// to none of its requests.
func (h *HTTP) listen(w http.ResponseWriter, r *http.Request) {
	if isModern(r.Header) {
		h.streamable.ServeHTTP(w, r) // says that this era has no such stream
		return
	}
	if h.work.isStopping() {
		stopping(w, message{})
		return
	}
	_, leave, ok := h.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	caller := exchangeFrom(r.Context()).Caller
	end, refusal := h.limits.begin(meteredAs(caller, r), true)
	if refusal != nil {
		refusal.answer(w, nil)
		return
	}
	defer end()
	ctx, cancel := h.work.streaming(r.Context())
	defer cancel()
	h.streamable.ServeHTTP(w, r.WithContext(ctx))
}

// goodbye ends the session of a client of an older era.
func (h *HTTP) goodbye(w http.ResponseWriter, r *http.Request) {
	if isModern(r.Header) {
		h.streamable.ServeHTTP(w, r)
		return
	}
	one, leave, ok := h.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	if !h.peers.dismiss(one.id, one.principal) {
		http.Error(w, "there is no such session any more", http.StatusNotFound)
		return
	}
	h.streamable.ServeHTTP(w, r)
	if !h.peers.has(one.id, one.principal) {
		h.left(exchangeFrom(r.Context()).Caller, true)
	}
}

// left tells that a client is gone, unless it is a principal.
func (h *HTTP) left(caller Caller, gone bool) {
	if caller.Principal == "" && h.options.Left != nil && !h.work.isStopping() {
		h.options.Left(caller.Client, gone)
	}
}
