package transport

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// stream is the session of a client that is told everything over one stream: of a
// client on lines (stdio, a socket) or of SSE. All of it passes one queue, so a
// notification that was sent before an answer arrives before it.
type stream struct {
	id   string
	ctx  context.Context // of its calls; ends with the session
	open context.Context // ends when nothing can be told any more
	log  *slog.Logger

	// direct writes an answer at once, without the queue, as long as the client was
	// never notified of anything; nil where everything is queued.
	direct        func(text []byte)
	notified      atomic.Bool
	initialized   atomic.Bool
	notifications chan mcp.JSONRPCNotification
	answers       chan []byte
	held          []byte // an answer that next lets notifications go ahead of; next has one caller

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
	level        mcp.LoggingLevel
	version      string
	asked        map[string]chan message // our requests, by their id
	aliases      map[*alias]bool         // of requests that listen
	count        int                     // of our requests so far
}

func newStream(log *slog.Logger) *stream {
	return &stream{
		log: log, notifications: make(chan mcp.JSONRPCNotification, 100), answers: make(chan []byte),
		level: mcp.LoggingLevelError, asked: map[string]chan message{},
	}
}

// next returns the next message to write, false when ctx has ended.
func (s *stream) next(ctx context.Context) (text []byte, ok bool) {
	for {
		answer := s.held
		s.held = nil
		if answer == nil {
			select {
			case n := <-s.notifications:
				if text := s.encode(n); text != nil {
					return text, true
				}
				continue
			case answer = <-s.answers:
			case <-ctx.Done():
				return nil, false
			}
		}
		select {
		case n := <-s.notifications: // which was sent before the answer
			s.held = answer
			if text := s.encode(n); text != nil {
				return text, true
			}
		default:
			return answer, true
		}
	}
}

// encode returns a message as JSON, nil when it has none.
func (s *stream) encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		s.log.Error("a message can't be sent", "error", err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := range s.aliases {
		text = a.restore(text)
	}
	return text
}

// answerTo has the request's own id in all that is told, until done is called.
func (s *stream) answerTo(a *alias) (done func()) {
	if a == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aliases == nil {
		s.aliases = map[*alias]bool{}
	}
	s.aliases[a] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.aliases, a)
	}
}

// answer waits until the answer is on its way, or nobody is there to take it.
func (s *stream) answer(text []byte) { s.put(s.open, text) }

// put is answer for who waits no longer than ctx.
func (s *stream) put(ctx context.Context, text []byte) {
	if s.direct != nil && !s.notified.Load() {
		s.direct(text)
		return
	}
	select {
	case s.answers <- text:
	case <-ctx.Done():
	case <-s.open.Done():
	}
}

// handle has mcp-go handle a message of the client's. It returns the answer, nil
// when there is none. A fault in a handler ends its request and nothing else.
func (s *stream) handle(ctx context.Context, to *server.MCPServer, m message, body []byte) (answer []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("a message made the server panic", "method", m.Method, "panic", fault, "stack", string(debug.Stack()))
			answer = errorText(m.ID, mcp.INTERNAL_ERROR, "internal error")
		}
		if !m.isRequest() {
			answer = nil
		}
	}()
	ctx, code := watchCode(ctx)
	if m.isListening() { // whose notifications name it
		with, a := aliased(m, body)
		body = with
		defer s.answerTo(a)()
	}
	response := to.HandleMessage(ctx, json.RawMessage(body))
	switch r := response.(type) { // the id as the client wrote it: mcp-go makes a float64 of a number
	case nil:
		return nil
	case mcp.JSONRPCResponse:
		r.ID = mcp.NewRequestId(m.ID)
		response = r
	case mcp.JSONRPCError:
		r.ID = mcp.NewRequestId(m.ID)
		if told := code.Load(); told != 0 {
			r.Error.Code = int(told)
		}
		response = r
	}
	if answer = s.encode(response); answer == nil {
		answer = errorText(m.ID, mcp.INTERNAL_ERROR, "the answer can't be written as JSON")
	}
	return answer
}

// SessionID is the id that the client names with each message.
func (s *stream) SessionID() string { return s.id }

// Initialize marks the session as ready for notifications.
func (s *stream) Initialize() { s.initialized.Store(true) }

// Initialized reports whether it is ready for notifications.
func (s *stream) Initialized() bool { return s.initialized.Load() }

// NotificationChannel takes notifications for the client.
func (s *stream) NotificationChannel() chan<- mcp.JSONRPCNotification {
	s.notified.Store(true)
	return s.notifications
}

// GetClientInfo returns what the client calls itself.
func (s *stream) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// SetClientInfo keeps what the client calls itself.
func (s *stream) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
}

// GetClientCapabilities returns what the client can do.
func (s *stream) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

// SetClientCapabilities keeps what the client can do.
func (s *stream) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = capabilities
}

// GetLogLevel returns from which level on the client wants log messages.
func (s *stream) GetLogLevel() mcp.LoggingLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// SetLogLevel keeps from which level on the client wants log messages.
func (s *stream) SetLogLevel(level mcp.LoggingLevel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

// ProtocolVersion returns the version that was agreed on, "" before that.
func (s *stream) ProtocolVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// SetProtocolVersion keeps the version that was agreed on.
func (s *stream) SetProtocolVersion(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

var (
	_ server.SessionWithClientInfo      = (*stream)(nil)
	_ server.SessionWithLogging         = (*stream)(nil)
	_ server.SessionWithElicitation     = (*stream)(nil)
	_ server.SessionWithRoots           = (*stream)(nil)
	_ server.SessionWithProtocolVersion = (*stream)(nil)
)
