package transport

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// stream is the session of a client of SSE. Everything that it is told passes
// one queue, so a notification that was sent before an answer arrives before it.
type stream struct {
	id  string
	ctx context.Context // of its calls; ends with the stream

	initialized   atomic.Bool
	notifications chan mcp.JSONRPCNotification
	answers       chan any
	taken         any // by next, which has one caller

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
}

func newStream() *stream {
	return &stream{notifications: make(chan mcp.JSONRPCNotification, 100), answers: make(chan any)}
}

// next returns the next message to send, false when ctx has ended.
func (s *stream) next(ctx context.Context) (message any, ok bool) {
	// An answer that was taken waits for the notifications sent before it.
	if s.taken != nil {
		select {
		case n := <-s.notifications:
			return n, true
		default:
			message, s.taken = s.taken, nil
			return message, true
		}
	}
	select {
	case n := <-s.notifications:
		return n, true
	case s.taken = <-s.answers:
		return s.next(ctx)
	case <-ctx.Done():
		return nil, false
	}
}

// answer waits until the answer is on its way, or nobody is there to take it.
func (s *stream) answer(message any) {
	select {
	case s.answers <- message:
	case <-s.ctx.Done():
	}
}

// SessionID, Initialize, Initialized and NotificationChannel make it a session
// of mcp-go's.
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
