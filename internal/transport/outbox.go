package transport

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// outbox is what a client is to be told over one stream. A notification that was sent
// before an answer leaves it before that.
type outbox struct {
	log           *slog.Logger
	notifications chan mcp.JSONRPCNotification
	texts         chan []byte // answers, and questions of ours

	open  context.Context // ends when nothing can be told any more over this stream
	after *outbox         // where questions go then; nil for nowhere

	// subscription is the id of the request that the stream belongs to, if that one
	// listens: all its notifications name it.
	subscription json.RawMessage

	// direct writes a text at once, as long as the client was never notified of
	// anything; nil where everything is queued.
	direct   func(text []byte)
	notified atomic.Bool
}

func newOutbox(open context.Context, log *slog.Logger) *outbox {
	return &outbox{
		log: log, open: open,
		notifications: make(chan mcp.JSONRPCNotification, 100), texts: make(chan []byte),
	}
}

// NotificationChannel takes notifications for the client.
func (o *outbox) NotificationChannel() chan<- mcp.JSONRPCNotification {
	o.notified.Store(true)
	return o.notifications
}

// put waits until the text is on its way, or nobody is there to take it.
func (o *outbox) put(ctx context.Context, text []byte) {
	if o.direct != nil && !o.notified.Load() {
		o.direct(text)
		return
	}
	select {
	case o.texts <- text:
	case <-ctx.Done():
	case <-o.open.Done():
		if o.after != nil {
			o.after.put(ctx, text)
		}
	}
}

// next waits for what is to be told next, in its order. When ctx has ended it returns
// what is left of the notifications, and false.
func (o *outbox) next(ctx context.Context) (texts [][]byte, ok bool) {
	select {
	case n := <-o.notifications:
		return o.encode(nil, n), true
	case text := <-o.texts:
		return append(o.pending(), text), true
	case <-ctx.Done():
		return o.pending(), false
	}
}

func (o *outbox) pending() (texts [][]byte) {
	for {
		select {
		case n := <-o.notifications:
			texts = o.encode(texts, n)
		default:
			return texts
		}
	}
}

// encode adds a notification to the texts.
func (o *outbox) encode(texts [][]byte, n mcp.JSONRPCNotification) [][]byte {
	if o.subscription != nil {
		n.Params.Meta = maps.Clone(n.Params.Meta) // other streams may have the same one
		if n.Params.Meta == nil {
			n.Params.Meta = map[string]any{}
		}
		n.Params.Meta[mcp.MetaKeySubscriptionID] = o.subscription
	}
	text, err := json.Marshal(n)
	if err != nil {
		o.log.Error("a notification can't be sent", "method", n.Method, "error", err)
		return texts
	}
	return append(texts, text)
}
