package transport

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// notes are the notifications of one call over streamable HTTP. mcp-go has one
// queue for all calls of a session, so that the progress of one may appear in
// the answer of another, and it may lose what is sent shortly before an answer.
// Here each call has a queue of its own, which is empty before the answer.
type notes struct {
	response *responder
	queue    chan mcp.JSONRPCNotification
	settle   chan chan struct{}
	done     chan struct{}
	once     sync.Once
	began    atomic.Bool
	ended    chan struct{}
}

func newNotes(w *responder) *notes {
	return &notes{
		response: w, queue: make(chan mcp.JSONRPCNotification, 100), settle: make(chan chan struct{}),
		done: make(chan struct{}), ended: make(chan struct{}),
	}
}

// channel takes notifications. Calls that have none cost no goroutine.
func (n *notes) channel() chan<- mcp.JSONRPCNotification {
	n.once.Do(func() {
		n.began.Store(true)
		go n.forward()
	})
	return n.queue
}

func (n *notes) forward() {
	defer close(n.ended)
	for {
		select {
		case note := <-n.queue:
			n.send(note)
		case settled := <-n.settle:
			n.drain()
			close(settled)
		case <-n.done:
			return
		}
	}
}

func (n *notes) drain() {
	for {
		select {
		case note := <-n.queue:
			n.send(note)
		default:
			return
		}
	}
}

func (n *notes) send(note mcp.JSONRPCNotification) {
	if text, err := json.Marshal(note); err == nil {
		n.response.event(asEvent(text))
	}
}

// settled returns when all that was in the queue is written.
func (n *notes) settled() {
	if !n.began.Load() {
		return
	}
	settled := make(chan struct{})
	select {
	case n.settle <- settled:
		<-settled
	case <-n.ended:
	}
}

// end is called when the call has been answered.
func (n *notes) end() {
	close(n.done)
	if n.began.Load() {
		<-n.ended
	}
}

// asEvent is a message as a stream of events carries it.
func asEvent(text []byte) []byte {
	return slices.Concat([]byte("event: message\ndata: "), text, []byte("\n\n"))
}

// notedSession is the session of one call: mcp-go's, with a queue of its own.
type notedSession struct {
	httpSession
	notes *notes
}

// httpSession is what mcp-go's session of streamable HTTP can do.
type httpSession interface {
	server.SessionWithTools
	server.SessionWithResources
	server.SessionWithResourceTemplates
	server.SessionWithLogging
	server.SessionWithClientInfo
	server.SessionWithElicitation
	server.SessionWithSampling
	server.SessionWithRoots
	server.SessionWithStreamableHTTPConfig
	ProtocolVersion() string
	SetProtocolVersion(version string)
}

// NotificationChannel takes what the client is to be told of this call.
func (s notedSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes.channel() }

type notesKey struct{}

// withNotes gives the call of ctx its queue, if it has one.
func (h *HTTP) withNotes(ctx context.Context, session server.ClientSession) context.Context {
	n, _ := ctx.Value(notesKey{}).(*notes)
	full, ok := session.(httpSession)
	if n == nil || !ok {
		return ctx
	}
	return h.mcp.WithContext(ctx, notedSession{full, n})
}
