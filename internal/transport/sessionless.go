package transport

import (
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Some clients of the older eras send requests without the session that they opened:
// claude.ai's connectors never send its id back. mcp-go refuses such requests; here
// they are served like those of the newest era, which has no sessions.

// postWithoutSession takes one message of an older era that names no session. A
// connection that is closed cancels its request: nobody could come back for it.
func (h *HTTP) postWithoutSession(w http.ResponseWriter, r *http.Request, m message, body []byte) {
	caller := h.withoutSession(r, m)
	exchangeFrom(r.Context()).Caller = caller
	end, ok := h.begin(w, r, m, caller)
	if !ok {
		return
	}
	defer end()
	if !m.isRequest() { // there is nothing that it could build on, or cancel
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s := &onceSession{}
	response, isOurs := w.(*responder)
	if isOurs && m.Method == string(mcp.MethodToolsCall) && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		s.notes = response.note()
		defer s.notes.end()
	}
	answer := newStream(h.log).handle(h.mcp.WithContext(WithCaller(r.Context(), caller), s), h.mcp, m, body)
	w.Header().Set("Content-Type", "application/json") // after the notifications, which make it a stream
	if isOurs && response.hasBegun() {
		response.event(asEvent(answer))
		return
	}
	_, _ = w.Write(answer) // the client may be gone
}

// onceSession is the session of one request. It has no id, and its client can be told
// things until it is answered, but not asked.
type onceSession struct{ notes *notes } // nil where the client takes no notifications

// Initialize does nothing: it is.
func (s *onceSession) Initialize() {}

// Initialized is true.
func (s *onceSession) Initialized() bool { return true }

// SessionID is "", as of the requests of the newest era.
func (s *onceSession) SessionID() string { return "" }

// NotificationChannel takes what the client is to be told of this request, nil for
// nothing.
func (s *onceSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if s.notes == nil {
		return nil
	}
	return s.notes.channel()
}
