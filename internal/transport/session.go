package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is a client as mcp-go sees it: what is known of it, and where it is told
// things. Over streamable HTTP each request has an outbox of its own, so that what
// belongs to one never appears in the answer to another.
type session struct {
	*clientState
	*outbox
}

// clientState is what is known of a client, the same for all its requests.
type clientState struct {
	id           string
	initialized  atomic.Bool
	info         kept[mcp.Implementation]
	capabilities kept[mcp.ClientCapabilities]
	level        kept[mcp.LoggingLevel]
	version      kept[string]

	mu    sync.Mutex
	asked map[string]chan message // our requests, by their id
	count int                     // of our requests so far
}

// kept is a value that several goroutines read and replace.
type kept[T any] struct{ value atomic.Pointer[T] }

func (k *kept[T]) set(value T) { k.value.Store(&value) }

func (k *kept[T]) get() (value T) {
	if now := k.value.Load(); now != nil {
		value = *now
	}
	return value
}

func newSession(open context.Context, id string, log *slog.Logger) *session {
	s := &session{&clientState{id: id, asked: map[string]chan message{}}, newOutbox(open, log)}
	s.level.set(mcp.LoggingLevelError)
	return s
}

// apart is the session with an outbox of its own, for one request (see converse). What
// the client is asked when that has been answered goes to the session's.
func (s *session) apart() *session {
	own := newOutbox(context.Background(), s.log) // until converse says until when
	own.after = s.outbox
	return &session{s.clientState, own}
}

// SessionID is the id that the client names with each message.
func (s *session) SessionID() string { return s.id }

// Initialize marks the session as ready for notifications.
func (s *session) Initialize() { s.initialized.Store(true) }

// Initialized reports whether it is ready for notifications.
func (s *session) Initialized() bool { return s.initialized.Load() }

// GetClientInfo returns what the client calls itself.
func (s *session) GetClientInfo() mcp.Implementation { return s.info.get() }

// SetClientInfo keeps what the client calls itself.
func (s *session) SetClientInfo(info mcp.Implementation) { s.info.set(info) }

// GetClientCapabilities returns what the client can do.
func (s *session) GetClientCapabilities() mcp.ClientCapabilities { return s.capabilities.get() }

// SetClientCapabilities keeps what the client can do.
func (s *session) SetClientCapabilities(can mcp.ClientCapabilities) { s.capabilities.set(can) }

// GetLogLevel returns from which level on the client wants log messages.
func (s *session) GetLogLevel() mcp.LoggingLevel { return s.level.get() }

// SetLogLevel keeps from which level on the client wants log messages.
func (s *session) SetLogLevel(level mcp.LoggingLevel) { s.level.set(level) }

// ProtocolVersion returns the version that was agreed on, "" before that.
func (s *session) ProtocolVersion() string { return s.version.get() }

// SetProtocolVersion keeps the version that was agreed on.
func (s *session) SetProtocolVersion(version string) { s.version.set(version) }

// RequestElicitation asks the client's user and waits for what the user says.
func (s *session) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return ask[mcp.ElicitationResult](ctx, s, mcp.MethodElicitationCreate, r.Params)
}

// RequestSampling asks for an answer of the client's model.
func (s *session) RequestSampling(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return ask[mcp.CreateMessageResult](ctx, s, mcp.MethodSamplingCreateMessage, r.CreateMessageParams)
}

// ListRoots asks the client for the directories that it works in.
func (s *session) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return ask[mcp.ListRootsResult](ctx, s, mcp.MethodListRoots, nil)
}

var (
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithLogging         = (*session)(nil)
	_ server.SessionWithElicitation     = (*session)(nil)
	_ server.SessionWithSampling        = (*session)(nil)
	_ server.SessionWithRoots           = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
)

// ask sends the client a request of ours and waits for its answer.
func ask[T any](ctx context.Context, s *session, method mcp.MCPMethod, params any) (*T, error) {
	number, answered, forget := s.expect()
	defer forget()
	text, err := json.Marshal(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(int64(number)),
		Request: mcp.Request{Method: string(method)}, Params: params,
	})
	if err != nil {
		return nil, fmt.Errorf("asking the client for %s: %w", method, err)
	}
	s.put(ctx, text)
	select {
	case m := <-answered:
		if err := m.refusal(method); err != nil {
			return nil, err
		}
		var result T
		if err := json.Unmarshal(m.Result, &result); err != nil {
			return nil, fmt.Errorf("reading the client's answer to %s: %w", method, err)
		}
		return &result, nil
	case <-ctx.Done():
		s.withdraw(number)
		return nil, context.Cause(ctx)
	}
}

// expect numbers a request of ours.
func (s *clientState) expect() (number int, answered <-chan message, forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	id, came := strconv.Itoa(s.count), make(chan message, 1)
	s.asked[id] = came
	return s.count, came, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, id)
	}
}

// withdraw tells the client that nobody waits for its answer any more, so that it
// can take the form from its user. It waits for no client that reads nothing: the
// call has gone on.
func (s *session) withdraw(number int) {
	to := s.outbox
	if to.open.Err() != nil && to.after != nil {
		to = to.after
	}
	withdrawn := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: methodCancelled,
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{
			"requestId": number, "reason": "the code does not wait for it any more",
		}},
	}}
	select {
	case to.NotificationChannel() <- withdrawn:
	default:
	}
}

// refusal is the error that the client answered with, nil when there is none.
func (m message) refusal(method mcp.MCPMethod) error {
	var refused *rpcError
	if len(m.Error) == 0 || string(m.Error) == "null" {
		return nil
	}
	if json.Unmarshal(m.Error, &refused) != nil {
		return fmt.Errorf("the client refused %s", method)
	}
	return fmt.Errorf("the client refused %s: %s", method, refused.Message)
}

// deliver takes the client's answer to where it is waited for.
func (s *clientState) deliver(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered := s.asked[string(m.ID)]; answered != nil {
		select {
		case answered <- m:
		default: // it was answered already
		}
	}
}

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

// next waits for what is to be told next, in its order. When ctx has ended it reports
// false; notifications may be left, which pending returns.
func (o *outbox) next(ctx context.Context) (texts [][]byte, ok bool) {
	select {
	case n := <-o.notifications:
		return o.encode(nil, n), true
	case text := <-o.texts:
		return append(o.pending(), text), true
	case <-ctx.Done():
		return nil, false
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
