package transport

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// stream is the session of a client of SSE. Everything that it is told passes
// one queue, so a notification that was sent before an answer arrives before it.
type stream struct {
	id  string
	ctx context.Context // of its calls; ends with the stream
	log *slog.Logger

	initialized   atomic.Bool
	notifications chan mcp.JSONRPCNotification
	answers       chan any
	taken         any // from answers by next, which has one caller

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
	level        mcp.LoggingLevel
	version      string
	calls        map[string]context.CancelFunc // by the id of their request
	asked        map[string]chan message       // our requests, by their id
	count        int                           // of our requests so far
}

func newStream(log *slog.Logger) *stream {
	return &stream{
		log: log, notifications: make(chan mcp.JSONRPCNotification, 100), answers: make(chan any),
		level: mcp.LoggingLevelError,
		calls: map[string]context.CancelFunc{}, asked: map[string]chan message{},
	}
}

// next returns the next event to write, false when ctx has ended.
func (s *stream) next(ctx context.Context) (event []byte, ok bool) {
	for {
		next := s.taken
		s.taken = nil
		if next == nil {
			select {
			case n := <-s.notifications:
				next = n
			case next = <-s.answers:
			case <-ctx.Done():
				return nil, false
			}
		}
		if _, isNotification := next.(mcp.JSONRPCNotification); !isNotification {
			// What was notified before goes ahead.
			select {
			case n := <-s.notifications:
				next, s.taken = n, next
			default:
			}
		}
		text, err := json.Marshal(next)
		if err != nil {
			s.log.Error("a message can't be sent", "error", err)
			continue
		}
		return asEvent(text), true
	}
}

// answer waits until the answer is on its way, or nobody is there to take it.
func (s *stream) answer(message any) { s.put(s.ctx, message) }

// put is answer for who waits no longer than ctx.
func (s *stream) put(ctx context.Context, message any) {
	select {
	case s.answers <- message:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// calling returns the context of a message: that of a request ends when the
// client cancels it.
func (s *stream) calling(m message) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	if !m.isRequest() {
		return ctx, cancel
	}
	id := string(m.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[id] != nil { // a client that uses an id twice can cancel neither
		return ctx, cancel
	}
	s.calls[id] = cancel
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		cancel()
	}
}

// cancel ends the context of the request with that id, if there is one.
func (s *stream) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[id]; cancel != nil {
		cancel()
	}
}

// SessionID is the id that the client names with each message.
func (s *stream) SessionID() string { return s.id }

// Initialize marks the session as ready for notifications.
func (s *stream) Initialize() { s.initialized.Store(true) }

// Initialized reports whether it is ready for notifications.
func (s *stream) Initialized() bool { return s.initialized.Load() }

// NotificationChannel takes notifications for the client.
func (s *stream) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

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
