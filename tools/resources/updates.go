package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
	"understudy/tools/answer"
)

// mostSubscriptions is how many resources one subscriber may name; mostOfClient and
// mostInAll are how many the subscribers of one client that is known, and all of them,
// may name: each is looked at once a second. How many subscribers there are is bounded by
// the transports, which end sessions and streams.
const mostSubscriptions, mostOfClient, mostInAll = 100, 500, 10_000

const (
	// looksAtOnce is how many subscribers are seen to at the same time, and lookTime how
	// long one look may take: what was left out comes with the next.
	looksAtOnce = 8
	lookTime    = 10 * time.Second
)

// updates tells subscribers of resources that changed. mcp-go keeps no subscriptions; it
// only lets the requests pass by the hooks. What a subscriber was told is compared with what
// is: once a second while something can change without a call, and after calls.
type updates struct {
	*Server
	life  context.Context // ends with the server
	stop  context.CancelFunc
	looks chan struct{} // a token for each look under way

	mu          sync.Mutex
	subscribers map[any]*subscriber // by MCP session id, or by the listen request itself
	calls       int                 // of tools: each may have changed something
	ticking     bool                // while there are subscribers
	watches     sync.WaitGroup
}

// subscriber is one stream of notifications: of an MCP session, or of a request
// subscriptions/listen. All but what is set at the beginning belongs to mu.
type subscriber struct {
	client sessions.Client
	since  time.Time
	send   func(method string, params map[string]any) error
	life   context.Context // ends when it is forgotten
	stop   context.CancelFunc

	told     map[string]string // by URI, the state that it knows
	list     bool              // it wants to know of changes of its list
	listed   string            // the list that it knows
	looking  bool              // a look at what it doesn't know is under way
	restless bool              // what it watches can change without a call
	calls    int               // that there had been at the last look
}

func newUpdates(l *Server) *updates {
	u := &updates{Server: l, subscribers: map[any]*subscriber{}, looks: make(chan struct{}, looksAtOnce)}
	u.life, u.stop = context.WithCancel(context.Background())
	return u
}

func (u *updates) hook(hooks *server.Hooks) {
	hooks.AddOnRequestInitialization(u.refuse)
	hooks.AddBeforeSubscribe(u.subscribe)
	hooks.AddAfterUnsubscribe(u.unsubscribe)
	hooks.AddBeforeSubscriptionsListen(u.listen)
	hooks.AddOnUnregisterSession(u.left)
	hooks.AddAfterCallTool(func(context.Context, any, *mcp.CallToolRequest, any) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.calls++
	})
}

// close ends all subscriptions; nothing is looked at any more.
func (u *updates) close() {
	u.mu.Lock()
	u.stop() // add begins no more watches
	u.mu.Unlock()
	u.end(func(*subscriber) bool { return true })
	u.watches.Wait()
}

// end forgets the subscribers that are meant, for good even if a look is under way.
func (u *updates) end(meant func(*subscriber) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, s := range u.subscribers {
		if meant(s) {
			u.forget(key, s)
		}
	}
}

// forget ends a subscriber. The caller holds mu.
func (u *updates) forget(key any, s *subscriber) {
	s.stop()
	if u.subscribers[key] == s {
		delete(u.subscribers, key)
	}
}

// room is how many more resources the client may name. The caller holds mu.
func (u *updates) room(client sessions.Client) int {
	all, own := 0, 0
	for _, s := range u.subscribers {
		all += len(s.told)
		if s.client == client && client != sessions.Anonymous { // who are many, not to be in each other's way
			own += len(s.told)
		}
	}
	return max(0, min(mostInAll-all, mostOfClient-own))
}

// refuse answers a subscription to what the caller can't see, or to too much, which the
// later hooks can't. It reads only what may be one; who escapes the letters of the method's
// name is refused by subscribe, in fewer words.
func (u *updates) refuse(ctx context.Context, _, message any) error {
	raw, ok := message.(json.RawMessage)
	if !ok || len(raw) > 64<<10 || !bytes.Contains(raw, []byte("subscribe")) {
		return nil
	}
	var request struct {
		Method mcp.MCPMethod `json:"method"`
		Params struct {
			URI  string    `json:"uri"`
			Meta *mcp.Meta `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &request) != nil || request.Method != mcp.MethodResourcesSubscribe {
		return nil
	}
	if mcp.IsModernProtocol(request.Params.Meta.ProtocolVersion()) {
		return nil // that era has no such method, which is for the library to say
	}
	_, err := u.allow(ctx, request.Params.URI)
	return err
}

// allow returns how a resource stands that a client may subscribe to.
func (u *updates) allow(ctx context.Context, address string) (string, error) {
	client := u.Client(ctx)
	state, err := u.state(ctx, client, address)
	if err != nil {
		return "", fmt.Errorf("%s: %w", answer.Clip(address, 300), err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if session := server.ClientSessionFromContext(ctx); session != nil {
		if s := u.subscribers[session.SessionID()]; s != nil && len(s.told) >= mostSubscriptions {
			return "", fmt.Errorf("you have %d subscriptions, the limit; unsubscribe from some first", mostSubscriptions)
		}
	}
	if u.room(client) == 0 {
		return "", errors.New("there are too many subscriptions already; unsubscribe from some first, or try again later")
	}
	return state, nil
}

// subscribe is for the eras before 2026-07-28. What refuse let pass by is refused here by
// taking its address away.
func (u *updates) subscribe(ctx context.Context, _ any, request *mcp.SubscribeRequest) {
	state, err := u.allow(ctx, request.Params.URI)
	if err != nil {
		request.Params.URI = ""
		return
	}
	u.withSession(ctx, func(s *subscriber) { s.told[request.Params.URI] = state })
}

func (u *updates) unsubscribe(ctx context.Context, _ any, request *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.subscribers[session.SessionID()]; s != nil {
		delete(s.told, request.Params.URI)
		if len(s.told) == 0 && !s.list { // nothing is left to look at
			u.forget(session.SessionID(), s)
		}
	}
}

// listed notes which list a client of the earlier eras has seen: it is told when
// that changes. One that never asked is not. In the newer era who wants to know
// says so with subscriptions/listen.
func (u *updates) listed(ctx context.Context, resources []mcp.Resource) {
	if !server.IsModernRequest(ctx) {
		u.withSession(ctx, func(s *subscriber) { s.list, s.listed = true, listState(resources) })
	}
}

// withSession changes the subscriber of the caller's MCP session, where it has one.
func (u *updates) withSession(ctx context.Context, change func(*subscriber)) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil || session.SessionID() == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	id, client := session.SessionID(), u.Client(ctx)
	s := u.subscribers[id]
	if s == nil || s.client != client {
		s = &subscriber{client: client, told: map[string]string{}, send: func(method string, params map[string]any) error {
			return u.server.SendNotificationToSpecificClient(id, method, params)
		}}
		u.add(id, s)
	}
	change(s)
	s.restless = true
}

// left forgets the subscriber of an MCP session that has ended. One over streamable HTTP
// goes on without its stream, and has one again when the client comes back.
func (u *updates) left(_ context.Context, session server.ClientSession) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.subscribers[session.SessionID()]; s != nil {
		u.forget(session.SessionID(), s)
	}
}

// add begins to watch for a subscriber. The caller holds mu.
func (u *updates) add(key any, s *subscriber) {
	s.since, s.restless = time.Now(), true
	s.life, s.stop = context.WithCancel(u.life)
	if u.life.Err() != nil {
		return
	}
	if before := u.subscribers[key]; before != nil {
		u.forget(key, before)
	}
	u.subscribers[key] = s
	if !u.ticking {
		u.ticking = true
		u.watches.Go(u.watch)
	}
}

// listen is for the era 2026-07-28: one request is one stream. Resources that
// the caller can't see are taken out, and the acknowledgement says which are left.
func (u *updates) listen(ctx context.Context, id any, request *mcp.SubscriptionsListenRequest) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	wanted := &request.Params.Notifications
	s := &subscriber{client: u.Client(ctx), told: map[string]string{}, list: wanted.ResourcesListChanged}
	s.send = func(method string, params map[string]any) error { return push(session, id, method, params) }
	if s.list {
		s.listed = listState(u.own(s.client))
	}
	u.mu.Lock()
	room := min(u.room(s.client), mostSubscriptions)
	u.mu.Unlock()
	var allowed []string
	for _, address := range wanted.ResourceSubscriptions[:min(len(wanted.ResourceSubscriptions), room)] {
		if state, err := u.state(ctx, s.client, address); err == nil {
			s.told[address] = state
			allowed = append(allowed, address)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.room(s.client) < len(s.told) { // others have taken it meanwhile
		allowed, s.told = nil, map[string]string{}
	}
	wanted.ResourceSubscriptions = allowed
	if len(allowed) == 0 && !s.list {
		return
	}
	u.add(s, s)
	context.AfterFunc(ctx, func() { u.end(func(one *subscriber) bool { return one == s }) })
}

// push puts a notification on the stream of a listen request, which nothing else
// of mcp-go's reaches. It waits for nobody.
func push(session server.ClientSession, id any, method string, params map[string]any) error {
	notification := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: method,
		Params: mcp.NotificationParams{Meta: map[string]any{mcp.MetaKeySubscriptionID: id}, AdditionalFields: params},
	}}
	select {
	case session.NotificationChannel() <- notification:
		return nil
	default:
		return server.ErrNotificationChannelBlocked
	}
}
