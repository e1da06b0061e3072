package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

const (
	// updateEvery is how often subscribers hear of a change at most.
	updateEvery = time.Second
	// mostSubscriptions is how many resources one subscriber may name.
	mostSubscriptions = 100
	// mostSubscribers bounds the memory that those take who never say goodbye.
	mostSubscribers = 10_000
	// patienceWith is how many times in a row a subscriber may fail to take a
	// notification; then it is forgotten.
	patienceWith = 60
)

// updates tells subscribers of resources that changed. mcp-go keeps no
// subscriptions; it only lets the requests pass by the hooks. There is no
// goroutine and no clock unless somebody waits for something.
type updates struct {
	shelf *shelf
	every time.Duration

	mu          sync.Mutex
	subscribers map[any]*subscriber // by MCP session id, or by the listen request itself
	scheduled   bool                // a look at everything is to come, or is under way
	again       bool                // and another one after it
}

// subscriber is one stream of notifications: of an MCP session, or of a request
// subscriptions/listen. All but what is set at the beginning belongs to mu.
type subscriber struct {
	client sessions.Client
	since  time.Time
	send   func(method string, params map[string]any) error

	told     map[string]string // by URI, the state that it knows
	list     bool              // it wants to know of changes of its list
	listed   string            // the list that it knows
	failures int
	gone     time.Time // when its stream ended; zero while it is there
}

func newUpdates(l *shelf, every time.Duration) *updates {
	return &updates{shelf: l, every: every, subscribers: map[any]*subscriber{}}
}

func (u *updates) hook(hooks *server.Hooks) {
	hooks.AddOnRequestInitialization(u.refuse)
	hooks.AddBeforeSubscribe(u.subscribe)
	hooks.AddAfterUnsubscribe(u.unsubscribe)
	hooks.AddBeforeSubscriptionsListen(u.listen)
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { u.present(session, time.Time{}) })
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { u.present(session, time.Now()) })
	hooks.AddAfterCallTool(func(context.Context, any, *mcp.CallToolRequest, any) { u.stir() })
}

// refuse answers a subscription to what the caller can't see, or to too much.
// The later hooks can't answer.
func (u *updates) refuse(ctx context.Context, _, message any) error {
	raw, ok := message.(json.RawMessage)
	if !ok || len(raw) > 64<<10 || !bytes.Contains(raw, []byte(mcp.MethodResourcesSubscribe)) {
		return nil
	}
	var request struct {
		Method mcp.MCPMethod `json:"method"`
		Params struct {
			URI string `json:"uri"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &request) != nil || request.Method != mcp.MethodResourcesSubscribe {
		return nil
	}
	if _, err := u.state(ctx, u.shelf.Client(ctx), request.Params.URI); err != nil {
		return fmt.Errorf("%s: %w", clip(request.Params.URI, 300), err)
	}
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.subscribers[session.SessionID()]; s != nil && len(s.told) >= mostSubscriptions {
		return fmt.Errorf("you have %d subscriptions, the limit; unsubscribe from some first", mostSubscriptions)
	}
	return nil
}

// subscribe is for the eras before 2026-07-28.
func (u *updates) subscribe(ctx context.Context, _ any, request *mcp.SubscribeRequest) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil || session.SessionID() == "" {
		return
	}
	client, uri := u.shelf.Client(ctx), request.Params.URI
	state, err := u.state(ctx, client, uri)
	if err != nil { // refuse has said so
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.of(session, client); len(s.told) < mostSubscriptions {
		s.told[uri] = state
	}
	u.schedule()
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
	}
}

// listed notes which list a client of the earlier eras has seen: it is told when
// that changes. One that never asked is not. In the newer era who wants to know
// says so with subscriptions/listen.
func (u *updates) listed(ctx context.Context, resources []mcp.Resource) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil || session.SessionID() == "" || server.IsModernRequest(ctx) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.of(session, u.shelf.Client(ctx))
	s.list, s.listed = true, listState(resources)
	u.schedule()
}

// of returns the subscriber of an MCP session. The caller holds mu.
func (u *updates) of(session server.ClientSession, client sessions.Client) *subscriber {
	id := session.SessionID()
	if s := u.subscribers[id]; s != nil && s.client == client {
		return s
	}
	s := &subscriber{client: client, since: time.Now(), told: map[string]string{}, send: func(method string, params map[string]any) error {
		return u.shelf.server.SendNotificationToSpecificClient(id, method, params)
	}}
	u.add(id, s)
	return s
}

// add makes room by forgetting the oldest. The caller holds mu.
func (u *updates) add(key any, s *subscriber) {
	if len(u.subscribers) >= mostSubscribers {
		oldest := key
		for other, o := range u.subscribers {
			if that := u.subscribers[oldest]; that == nil || o.since.Before(that.since) {
				oldest = other
			}
		}
		delete(u.subscribers, oldest)
	}
	u.subscribers[key] = s
}

// present says that the stream of an MCP session has ended, or is there. Over
// HTTP a client may come back for its session; all others are gone for good.
func (u *updates) present(session server.ClientSession, gone time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.subscribers[session.SessionID()]
	if s == nil {
		return
	}
	if _, returns := session.(server.SessionWithStreamableHTTPConfig); !returns && !gone.IsZero() {
		delete(u.subscribers, session.SessionID())
		return
	}
	s.gone = gone
	u.schedule()
}

// listen is for the era 2026-07-28: one request is one stream. Resources that
// the caller can't see are taken out, and the acknowledgement says which are left.
func (u *updates) listen(ctx context.Context, id any, request *mcp.SubscriptionsListenRequest) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	client, wanted := u.shelf.Client(ctx), &request.Params.Notifications
	s := &subscriber{client: client, since: time.Now(), told: map[string]string{}, list: wanted.ResourcesListChanged}
	var allowed []string
	for _, uri := range wanted.ResourceSubscriptions {
		if state, err := u.state(ctx, client, uri); err == nil && len(s.told) < mostSubscriptions {
			s.told[uri] = state
			allowed = append(allowed, uri)
		}
	}
	wanted.ResourceSubscriptions = allowed
	if len(allowed) == 0 && !s.list {
		return
	}
	if s.list {
		s.listed = listState(u.shelf.own(client))
	}
	s.send = func(method string, params map[string]any) error { return push(session, id, method, params) }
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(s, s)
	context.AfterFunc(ctx, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.subscribers, s)
	})
	u.schedule()
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

// stir says that something may have changed.
func (u *updates) stir() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.subscribers) > 0 {
		u.schedule()
	}
}

// schedule sees to it that all is looked at, once, after a while. The caller
// holds mu.
func (u *updates) schedule() {
	u.again = u.scheduled
	if !u.scheduled {
		u.scheduled = true
		time.AfterFunc(u.every, u.look)
	}
}

// look tells every subscriber what has changed, and comes back as long as
// something may go on changing without a call.
func (u *updates) look() {
	u.mu.Lock()
	all := make(map[any]*subscriber, len(u.subscribers))
	for key, s := range u.subscribers {
		all[key] = s
	}
	u.again = false
	u.mu.Unlock()

	restless := false
	for key, s := range all {
		if u.tell(key, s) {
			restless = true
		}
	}

	u.mu.Lock()
	defer u.mu.Unlock()
	u.scheduled = false
	if restless || u.again {
		u.schedule()
	}
}

// tell sends one subscriber what it doesn't know. It reports whether to look
// again soon.
func (u *updates) tell(key any, s *subscriber) (restless bool) {
	u.mu.Lock()
	told := make(map[string]string, len(s.told))
	for uri, state := range s.told {
		told[uri] = state
	}
	list, listed := s.list, s.listed
	fresh, gone := time.Since(s.since) < u.every/2, !s.gone.IsZero() && time.Since(s.gone) > patienceWith*u.every
	u.mu.Unlock()
	if gone {
		u.drop(key)
		return false
	}
	if fresh { // its acknowledgement may not have been sent yet
		return true
	}
	for uri, known := range told {
		u.tellOf(key, s, uri, known)
	}
	if list {
		if now := listState(u.shelf.own(s.client)); now != listed && u.sent(key, s, mcp.MethodNotificationResourcesListChanged, nil) {
			u.mu.Lock()
			s.listed = now
			u.mu.Unlock()
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(s.told) > 0 || s.failures > 0 || !s.gone.IsZero() || list && u.shelf.runs(s.client)
}

// tellOf sends one subscriber that one resource has changed, if so. One that is
// gone for good is told of once.
func (u *updates) tellOf(key any, s *subscriber, uri, known string) {
	now, err := u.state(context.Background(), s.client, uri)
	if err != nil {
		now = err.Error()
	}
	if now == known || !u.sent(key, s, mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri}) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, still := s.told[uri]; still {
		s.told[uri] = now
	}
	if a, _ := parseAddress(uri); err != nil && a.kind != aFile && a.kind != aDirectory {
		delete(s.told, uri)
	}
}

// sent reports whether a notification went out. Who fails to take it for too
// long is forgotten.
func (u *updates) sent(key any, s *subscriber, method string, params map[string]any) bool {
	err := s.send(method, params)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err == nil {
		s.failures = 0
		return true
	}
	if s.failures++; s.failures >= patienceWith {
		u.shelf.Logger.Info("a subscriber takes no notifications and is forgotten", "error", err)
		delete(u.subscribers, key)
		clear(s.told)
		s.list, s.failures = false, 0
	}
	return false
}

func (u *updates) drop(key any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.subscribers, key)
}

// state says in a few words how a resource stands: it changes when the resource
// does. An error is for who can't see it.
func (u *updates) state(ctx context.Context, client sessions.Client, uri string) (string, error) {
	a, err := parseAddress(uri)
	if err != nil {
		return "", err
	}
	library := u.shelf.library
	switch a.kind {
	case anInterpreter:
		l, err := library.Interpreter(client, a.interpreter)
		return fmt.Sprint(l.Executions, l.Running, l.Ended, l.Unfetched, l.PID), err
	case anExecution:
		b, err := library.Brief(client, a.interpreter, a.execution)
		return fmt.Sprint(b.Status, b.Printed, len(b.Figures)), err
	case anOutput:
		b, err := library.Brief(client, a.interpreter, a.execution)
		return fmt.Sprint(b.Status == sessions.StatusRunning, b.Printed[a.stream]), err
	case aFigure:
		_, err := library.Interpreter(client, a.interpreter)
		return "", err
	default:
		if a.name == "" {
			a.name = "."
		}
		f, err := library.Stat(ctx, client, a.interpreter, a.name)
		return fmt.Sprint(f.Kind, f.Size, f.Modified.UnixNano()), err
	}
}

func listState(resources []mcp.Resource) string {
	var state strings.Builder
	for _, r := range resources {
		state.WriteString(r.URI)
		state.WriteByte('\n')
	}
	return state.String()
}

// runs reports whether code of the client's runs now.
func (l *shelf) runs(client sessions.Client) bool {
	for _, id := range l.library.Own(client) {
		if listing, err := l.library.Interpreter(client, id); err == nil && listing.Running > 0 {
			return true
		}
	}
	return false
}
