package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	// mostOfClient and mostInAll are how many resources the subscribers of one
	// client that is known, and all of them, may name: each is looked at once a
	// second.
	mostOfClient = 500
	mostInAll    = 10_000
	// mostSubscribers bounds the memory that those take who never say goodbye.
	mostSubscribers = 10_000
	// patienceWith is how many times in a row a subscriber may fail to take a
	// notification; then it is forgotten.
	patienceWith = 60
	// looksAtOnce is how many subscribers are seen to at the same time, so that
	// one whose files are slow holds up few, and lookTime how long all may take:
	// who was left out comes with the next look.
	looksAtOnce = 8
	lookTime    = 10 * time.Second
)

// updates tells subscribers of resources that changed. mcp-go keeps no
// subscriptions; it only lets the requests pass by the hooks. There is no
// goroutine and no clock unless somebody waits for something.
type updates struct {
	shelf *shelf
	every time.Duration
	life  context.Context // ends with the server
	end   context.CancelFunc
	looks sync.WaitGroup // looks that are to come or under way

	mu          sync.Mutex
	timer       *time.Timer         // of the next look
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
	u := &updates{shelf: l, every: every, subscribers: map[any]*subscriber{}}
	u.life, u.end = context.WithCancel(context.Background())
	return u
}

// close ends what is under way; nothing is looked at any more.
func (u *updates) close() {
	u.mu.Lock()
	u.end()
	if u.timer != nil && u.timer.Stop() {
		u.looks.Done()
	}
	u.timer = nil
	clear(u.subscribers)
	u.mu.Unlock()
	u.looks.Wait()
}

// leave forgets the subscribers of a client that is gone.
func (u *updates) leave(client sessions.Client) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, s := range u.subscribers {
		if s.client == client {
			u.forget(key, s)
		}
	}
}

// forget lets go of a subscriber, for good even if a look is under way. The
// caller holds mu.
func (u *updates) forget(key any, s *subscriber) {
	delete(u.subscribers, key)
	clear(s.told)
	s.list, s.failures = false, 0
}

// room is how many more resources the client may name. The caller holds mu.
func (u *updates) room(client sessions.Client) int {
	all, own := 0, 0
	for _, s := range u.subscribers {
		all += len(s.told)
		if s.client == client {
			own += len(s.told)
		}
	}
	if client == sessions.Anonymous { // many, who are not to be in each other's way
		own = 0
	}
	return max(0, min(mostInAll-all, mostOfClient-own))
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
	if !ok || len(raw) > 64<<10 { // subscribe, below, takes nothing that is refused here
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
	if u.room(u.shelf.Client(ctx)) == 0 {
		return errors.New("there are too many subscriptions already; unsubscribe from some first, or try again later")
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
	if s := u.of(session, client); len(s.told) < mostSubscriptions && u.room(client) > 0 {
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
	if s.list {
		s.listed = listState(u.shelf.own(client))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if room := u.room(client); len(allowed) > room {
		for _, uri := range allowed[room:] {
			delete(s.told, uri)
		}
		allowed = allowed[:room]
	}
	wanted.ResourceSubscriptions = allowed
	if len(allowed) == 0 && !s.list {
		return
	}
	s.send = func(method string, params map[string]any) error { return push(session, id, method, params) }
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
	if !u.scheduled && u.life.Err() == nil {
		u.scheduled = true
		u.looks.Add(1)
		u.timer = time.AfterFunc(u.every, u.look)
	}
}

// look tells every subscriber what has changed, and comes back as long as
// something may go on changing without a call.
func (u *updates) look() {
	defer u.looks.Done()
	u.mu.Lock()
	u.timer = nil
	all := make(map[any]*subscriber, len(u.subscribers))
	for key, s := range u.subscribers {
		all[key] = s
	}
	u.again = false
	u.mu.Unlock()

	restless := u.tellAll(all)

	u.mu.Lock()
	defer u.mu.Unlock()
	u.scheduled = false
	if restless || u.again {
		u.schedule()
	}
}

// tellAll sends every subscriber what it doesn't know. It reports whether to look
// again soon.
func (u *updates) tellAll(all map[any]*subscriber) bool {
	ctx, cancel := context.WithTimeout(u.life, lookTime)
	defer cancel()
	var restless atomic.Bool
	var looks sync.WaitGroup
	room := make(chan struct{}, looksAtOnce)
	for key, s := range all { // in any order, so that nobody is always last
		room <- struct{}{}
		looks.Go(func() {
			if u.tell(ctx, key, s) {
				restless.Store(true)
			}
			<-room
		})
	}
	looks.Wait()
	return restless.Load()
}

// tell sends one subscriber what it doesn't know. It reports whether to look
// again soon.
func (u *updates) tell(ctx context.Context, key any, s *subscriber) (restless bool) {
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
		u.tellOf(ctx, key, s, uri, known)
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
func (u *updates) tellOf(ctx context.Context, key any, s *subscriber, uri, known string) {
	if ctx.Err() != nil {
		return
	}
	now, err := u.state(ctx, s.client, uri)
	if ctx.Err() != nil { // which says nothing of the resource
		return
	}
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
		u.forget(key, s)
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
		return fmt.Sprint(l.Executions, l.Running, l.Prompt, l.Ended, l.Unfetched, l.PID), err
	case anExecution:
		b, err := library.Brief(client, a.interpreter, a.execution)
		return fmt.Sprint(b.Status, b.Printed, len(b.Figures), len(b.Artifacts)), err
	case anOutput:
		b, err := library.Brief(client, a.interpreter, a.execution)
		return fmt.Sprint(b.Status.Runs(), b.Printed[a.stream]), err
	case aFigure:
		_, err := library.Interpreter(client, a.interpreter)
		return "", err
	case anArtifact:
		briefs, err := library.Executions(client, a.interpreter)
		if err != nil {
			return "", err
		}
		return artifactState(briefs, a)
	case aPreview:
		return u.shelf.previewState(ctx)
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
