package transport

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// postAlone takes a message of no session: of the newest era, which has none, or of an
// older one by a client that sends no id, as claude.ai's connectors never send the id back
// of the session that they opened. A connection that is closed cancels its request.
// Cancellations are not obeyed, as nothing says whose request is meant.
func (h *HTTP) postAlone(w http.ResponseWriter, r *http.Request, m message, body []byte) {
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
	ctx := WithCaller(r.Context(), caller)
	s := newSession(r.Context(), "", h.log)
	s.Initialize()
	takesEvents, isModern := true, m.isModern(r.Header)
	if isModern {
		if code, why := h.checkModern(r.Header, m); code != 0 {
			refuseAs(w, m.ID, http.StatusBadRequest, code, why)
			return
		}
	} else {
		s.SetProtocolVersion(r.Header.Get(mcp.HeaderProtocolVersion))
		takesEvents = strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	}
	switch {
	case !m.isRequest():
		s.handle(h.mcp.WithContext(ctx, s), h.mcp, m, body)
		w.WriteHeader(http.StatusAccepted)
	case isModern && m.isListening():
		h.listenModern(ctx, w, s, m, body)
	default:
		h.answer(ctx, w, s, s, m, body, takesEvents)
	}
}

// listenModern answers a request with what it listens to, until its connection ends or
// the server stops.
func (h *HTTP) listenModern(ctx context.Context, w http.ResponseWriter, s *session, m message, body []byte) {
	ctx, cancel := h.work.streaming(ctx)
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
