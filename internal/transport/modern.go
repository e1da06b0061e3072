package transport

import (
	"crypto/rand"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// postModern takes a message of the newest era, which has no sessions: a connection
// that is closed cancels its request. Cancellations are not obeyed, as nothing says
// whose request is meant.
func (h *HTTP) postModern(w http.ResponseWriter, r *http.Request, m message, body []byte) {
	if m.isCancellation() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	caller := h.withoutSession(r, m)
	end, ok := h.begin(w, r, m, caller)
	if !ok {
		return
	}
	defer end()
	if code, why := h.checkModern(r.Header, m); code != 0 {
		refuseAs(w, m.ID, http.StatusBadRequest, code, why)
		return
	}
	s := newSession(r.Context(), "", h.log)
	s.Initialize()
	if !m.isRequest() {
		s.handle(h.mcp.WithContext(WithCaller(r.Context(), caller), s), h.mcp, m, body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.isListening() {
		h.listenModern(w, r, caller, s, m, body)
		return
	}
	h.answer(WithCaller(r.Context(), caller), w, s, s, m, body, true)
}

// listenModern answers a request with what it listens to, until its connection ends or
// the server stops.
func (h *HTTP) listenModern(w http.ResponseWriter, r *http.Request, caller Caller, s *session, m message, body []byte) {
	ctx, cancel := h.work.streaming(WithCaller(r.Context(), caller))
	defer cancel()
	s.id, s.subscription = rand.Text(), m.ID // for mcp-go, which tells nobody without an id
	as := &listener{session: s}
	if err := h.mcp.RegisterSession(ctx, as); err != nil {
		refuseAs(w, m.ID, http.StatusInternalServerError, mcp.INTERNAL_ERROR, "internal error")
		return
	}
	defer h.mcp.UnregisterSession(ctx, s.id)
	h.answer(ctx, w, s, as, m, body, true)
}

// listener is the session of a request that listens: it is told what it asked for, and
// nothing else.
type listener struct {
	*session
	filter kept[mcp.SubscriptionFilter]
}

// SetSubscriptionFilter is called with what the request listens to, and at its end.
func (l *listener) SetSubscriptionFilter(filter mcp.SubscriptionFilter) { l.filter.set(filter) }

// SubscriptionFilter returns what the request listens to.
func (l *listener) SubscriptionFilter() (mcp.SubscriptionFilter, bool) { return l.filter.get(), true }

// statusOf is the status that the newest era has for an error.
func statusOf(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION,
		mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// checkModern says what is wrong with a message of the newest era, whose headers must
// say what the message does: what is between us and the client may have gone by them.
func (h *HTTP) checkModern(header http.Header, m message) (code int, why string) {
	named := header.Get(mcp.HeaderProtocolVersion)
	switch {
	case m.isAnswer():
		return mcp.INVALID_REQUEST, "in this version of the protocol the server asks nothing that could be answered"
	case header.Get(mcp.HeaderLastEventID) != "":
		return mcp.HEADER_MISMATCH, mcp.HeaderLastEventID +
			" is not supported: streams can't be resumed; send the request again"
	case named == "":
		return mcp.HEADER_MISMATCH, "the header " + mcp.HeaderProtocolVersion + " is missing"
	case m.version == "":
		return mcp.INVALID_PARAMS, "missing or invalid _meta field " + mcp.MetaKeyProtocolVersion
	case named != m.version:
		return mcp.HEADER_MISMATCH, "the header " + mcp.HeaderProtocolVersion + " and the message name different versions"
	case !m.isRequest() || !mcp.IsValidProtocolVersion(m.version): // mcp-go refuses it, naming those that there are
		return 0, ""
	}
	method := mcp.MCPMethod(m.Method)
	err := mcp.ValidateStandardHeaders(header.Get, m.version, method, m.params)
	if name, ok := mcp.ExtractHeaderName(method, m.params); err == nil && ok && method == mcp.MethodToolsCall {
		if tool := h.mcp.GetTool(name); tool != nil {
			err = mcp.ValidateParamHeadersLookup(func(name string) (string, bool) {
				return header.Get(name), len(header.Values(name)) > 0
			}, &tool.Tool, m.params)
		}
	}
	if err != nil {
		return mcp.HEADER_MISMATCH, err.Error()
	}
	return 0, ""
}
