package transport

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// HeaderSession is what the ids of the MCP sessions begin with that a request opens.
const HeaderSession = "Understudy-Session"

var sessionKey = regexp.MustCompile(`^[A-Z2-7]{1,64}$`)

// Forwarder has requests of MCP answered elsewhere. They come checked, counted and read;
// the context of one that is a stream ends when the server stops.
type Forwarder interface {
	Forward(w http.ResponseWriter, r *http.Request, f Forwarded)
}

// Forwarded is a request to be answered elsewhere.
type Forwarded struct {
	Caller Caller
	// SessionKey is what the id of the request's MCP session begins with, or will where
	// the request opens one; "" without a session.
	SessionKey string
	// InSession says that the request names a session, which was opened before.
	InSession bool
	// Body is what was posted, nil for the other methods.
	Body []byte
	// ID is that of the request in the body; nil where no answer is expected.
	ID json.RawMessage
	// Method is of JSON-RPC; "" for several messages at once.
	Method string
	// ProgressToken is what notifications of the request's progress name; nil for none.
	ProgressToken json.RawMessage
	// IsStream says that the answer is open as long as somebody listens.
	IsStream bool
}

// forwarding takes the place of a route's own methods.
func (h *HTTP) forwarding(of methods) methods {
	forwarding := methods{}
	for method := range of {
		forwarding[method] = h.forward
	}
	return forwarding
}

// forward reads a message and has it answered elsewhere.
func (h *HTTP) forward(w http.ResponseWriter, r *http.Request) {
	f, m, release, ok := h.readForwarded(w, r)
	if !ok {
		return
	}
	defer release()
	switch opens := m.Method == methodInitialize || r.URL.Path == SSEPath; {
	case opens:
		f.SessionKey = rand.Text()
	case !m.isModern(r.Header): // which has no sessions
		f.SessionKey = keyOf(r)
		f.InSession = f.SessionKey != "" || r.URL.Path == MessagePath
	}
	if m.isCancellation() && !f.InSession { // which nobody obeys, see postAlone
		w.WriteHeader(http.StatusAccepted)
		return
	}
	f.Caller = CallerFrom(r.Context()).of(m)
	end, ok := h.begin(w, r, m, f.Caller)
	if !ok {
		return
	}
	defer end()
	ctx := r.Context()
	if f.IsStream {
		streaming, cancel := h.work.streaming(ctx)
		defer cancel()
		ctx = streaming
	}
	h.options.Forward.Forward(w, r.WithContext(ctx), f)
}

// readForwarded reads a request that is in use until release is called. Otherwise it has
// answered it.
func (h *HTTP) readForwarded(w http.ResponseWriter, r *http.Request) (f Forwarded, m message, release func(), ok bool) {
	if r.Method != http.MethodPost {
		if f.IsStream = r.Method == http.MethodGet; f.IsStream {
			m = aStream
		}
		return f, m, func() {}, r.URL.Path == SSEPath || namesSession(w, r)
	}
	if f.Body, release, ok = h.bodies.read(w, r); !ok {
		return f, m, nil, false
	}
	if isBatch(f.Body) {
		return f, aBatch, release, true
	}
	m, err := parse(f.Body)
	noteMessage(r, m, len(f.Body))
	if err != nil {
		release()
		refuseUnread(w, err)
		return f, m, nil, false
	}
	f.Method, f.ProgressToken, f.IsStream = m.Method, m.progressToken(), m.isListening()
	if m.isRequest() {
		f.ID = m.ID
	}
	return f, m, release, true
}

// aBatch is what several messages at once count as: one call.
var aBatch = message{ID: json.RawMessage("null"), Method: "batch"}

// keyOf is what the id of the request's MCP session begins with.
func keyOf(r *http.Request) string {
	id := r.Header.Get(mcpSession)
	if r.URL.Path == MessagePath {
		id = r.URL.Query().Get("sessionId")
	}
	key, _, _ := strings.Cut(id, ".")
	return key
}
