package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

// soon is how often the tests look for changes.
const soon = 10 * time.Millisecond

// await returns the next notification of a kind.
func await(t *testing.T, notifications chan mcp.JSONRPCNotification, method string) mcp.JSONRPCNotification {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case n := <-notifications:
			if n.Method == method {
				return n
			}
		case <-deadline:
			t.Fatalf("no %s", method)
		}
	}
}

func awaitUpdate(t *testing.T, notifications chan mcp.JSONRPCNotification, address string) {
	t.Helper()
	for {
		n := await(t, notifications, mcp.MethodNotificationResourceUpdated)
		if n.Params.AdditionalFields["uri"] == address {
			return
		}
	}
}

// subscribeTo subscribes in the way of the client's era.
func subscribeTo(t *testing.T, c *client.Client, notifications chan mcp.JSONRPCNotification, modern bool, uris ...string) {
	t.Helper()
	if modern {
		stop, err := c.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: uris, ResourcesListChanged: true}, nil)
		must(t, err)
		t.Cleanup(stop)
		await(t, notifications, mcp.MethodNotificationSubscriptionsAcknowledged)
		return
	}
	for _, address := range uris {
		must(t, subscribe(c, address))
	}
}

func subscribe(c *client.Client, address string) error {
	var request mcp.SubscribeRequest
	request.Params.URI = address
	return c.Subscribe(context.Background(), request) //nolint:staticcheck // it is how the earlier eras subscribe
}

func TestSubscribersHearOfChanges(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t, soon)
			c, notifications := h.connect(t, options...)
			_, id := run(t, c, `{"code":"more","wait":0.01}`)
			output, interpreter, record, file := uri.OfOutput(id, 1, 0), uri.OfInterpreter(id), uri.OfExecution(id, 1), uri.OfFile(id, "a.txt")
			call(t, c, "manage_interpreters", `{"operation":"upload","path":"a.txt","content":"x"}`)
			subscribeTo(t, c, notifications, era == "modern", output, interpreter, record, file)
			h.more <- "line"
			awaitUpdate(t, notifications, output)
			got := readText(t, c, output)
			expect(t, strings.HasPrefix(got, "line\n[") && strings.Contains(got, "may print more"), "%q", got)
			h.more <- "another"
			awaitUpdate(t, notifications, output)
			call(t, c, "manage_interpreters", `{"operation":"upload","path":"a.txt","content":"longer"}`)
			awaitUpdate(t, notifications, file)
			close(h.more)
			awaitUpdate(t, notifications, interpreter)
			call(t, c, "manage_interpreters", fmt.Sprintf(`{"operation":"delete","interpreter_id":%q}`, id))
			awaitUpdate(t, notifications, record)
		})
	}
}

func TestListsThatChange(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t, soon)
			c, notifications := h.connect(t, options...)
			if era == "modern" {
				subscribeTo(t, c, notifications, true)
			} else {
				listedURIs(t, c)
			}
			_, id := run(t, c, `{"code":"figure a.png x"}`)
			await(t, notifications, mcp.MethodNotificationResourcesListChanged)
			uris := listedURIs(t, c)
			expect(t, len(uris) == 3, "%v", uris)
			run(t, c, `{"code":"figure b.png x\nmore","wait":0.01}`)
			await(t, notifications, mcp.MethodNotificationResourcesListChanged)
			close(h.more)
			call(t, c, "manage_interpreters", `{"operation":"wait"}`)
			call(t, c, "manage_interpreters", fmt.Sprintf(`{"operation":"delete","interpreter_id":%q}`, id))
			await(t, notifications, mcp.MethodNotificationResourcesListChanged)
		})
	}
}

// TestSubscriptionsToAnothers: refused in the earlier eras, and left out of the
// acknowledgement in the newer one.
func TestSubscriptionsToAnothers(t *testing.T) {
	h := newHouse(t, soon)
	owner, _ := h.connect(t)
	call(t, owner, "manage_interpreters", `{"operation":"create","interpreter_id":"theirs"}`)
	_, id := run(t, owner, `{"code":"more","wait":0.01,"interpreter_id":"theirs"}`)
	defer close(h.more)
	stranger, theirs := h.connect(t, client.WithLegacyProtocolOnly())
	for address, words := range map[string]string{
		uri.OfOutput(id, 1, 0): "Interpreter " + id + " not found", uri.OfInterpreter(id): "not found", uri.OfFile(id, "."): "not found", "file:///etc/passwd": "no such resource",
	} {
		err := subscribe(stranger, address)
		expect(t, err != nil && strings.Contains(err.Error(), words), "%s: %v", address, err)
	}
	modern, notifications := h.connect(t)
	stop, err := modern.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri.OfOutput(id, 1, 0)}, ResourcesListChanged: true}, nil)
	must(t, err)
	defer stop()
	ack := await(t, notifications, mcp.MethodNotificationSubscriptionsAcknowledged)
	granted := fmt.Sprint(ack.Params.AdditionalFields["notifications"])
	expect(t, !strings.Contains(granted, id) && strings.Contains(granted, "true"), "acknowledged: %v", granted)
	h.more <- "secret"
	_, own := run(t, modern, `{"code":"figure own.png x"}`) // what comes now is heard of
	await(t, notifications, mcp.MethodNotificationResourcesListChanged)
	uris := listedURIs(t, modern)
	expect(t, !strings.Contains(strings.Join(uris, " "), id) && strings.Contains(uris[0], own), "%v", uris)
	expect(t, len(theirs) == 0, "a stranger heard something")
}

// TestUpdatesForgetWhoIsGone: who left is not kept, and nothing is looked at when nobody
// is there.
func TestUpdatesForgetWhoIsGone(t *testing.T) {
	h := newHouse(t, soon)
	c, notifications := h.connect(t, client.WithLegacyProtocolOnly())
	_, id := run(t, c, `{"code":"x"}`)
	subscribeTo(t, c, notifications, false, uri.OfInterpreter(id))
	var request mcp.UnsubscribeRequest
	request.Params.URI = uri.OfInterpreter(id)
	u := h.resources.updates
	nobody := func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return len(u.subscribers) == 0
	}
	for range 2 { // the second has nothing to end
		if err := c.Unsubscribe(t.Context(), request); err != nil { //nolint:staticcheck // it is how the earlier eras unsubscribe
			t.Fatal(err)
		}
		expect(t, nobody(), "who watches nothing is kept")
	}
	subscribeTo(t, c, notifications, false, uri.OfInterpreter(id))
	_ = c.Close()
	modern, notifications := h.connect(t)
	stop, err := modern.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourcesListChanged: true}, nil)
	must(t, err)
	await(t, notifications, mcp.MethodNotificationSubscriptionsAcknowledged)
	stop()
	eventually(t, nobody)
	u.watches.Wait() // nothing is looked at when nobody is there
}

func TestSubscriptionsAreBounded(t *testing.T) {
	h := newHouse(t, time.Hour)
	c, _ := h.connect(t, client.WithLegacyProtocolOnly())
	_, id := run(t, c, `{"code":"x"}`)
	for i := range mostSubscriptions {
		run(t, c, `{"code":"x"}`)
		must(t, subscribe(c, uri.OfExecution(id, min(i+1, 100))+strings.Repeat("/stdout", i&1)))
	}
	err := subscribe(c, uri.OfInterpreter(id))
	expect(t, err != nil && strings.Contains(err.Error(), "unsubscribe"), "%v", err)
}

// slowLibrary takes its time for one client, until release is closed.
type slowLibrary struct {
	Library
	slow    sessions.Client
	asked   chan bool
	release chan bool
}

func (l slowLibrary) Interpreter(client sessions.Client, id string) (sessions.Listing, error) {
	if client == l.slow {
		l.asked <- true
		<-l.release
		return sessions.Listing{Executions: 99}, nil
	}
	return sessions.Listing{Executions: 1}, nil
}

// TestOneSlowLookDelaysNobody, and one that came to nothing says nothing.
func TestOneSlowLookDelaysNobody(t *testing.T) {
	l := slowLibrary{slow: "slow", asked: make(chan bool, 100), release: make(chan bool)}
	u := newUpdates(&Server{library: l, Options: Options{every: time.Millisecond}})
	heard := make(chan sessions.Client, 100)
	add := func(client sessions.Client) {
		s := &subscriber{client: client, told: map[string]string{uri.OfInterpreter("x"): "a state"}, send: func(string, map[string]any) error {
			heard <- client
			return nil
		}}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.add(s, s)
	}
	add("slow")
	<-l.asked
	for range looksAtOnce {
		add("quick")
	}
	for range looksAtOnce {
		client := <-heard
		expect(t, client == "quick", "%s heard first", client)
	}
	u.stop()
	close(l.release)
	u.close()
	expect(t, len(heard) == 0, "somebody heard of a look that was cut short")
}

// TestWhatIsAskedDuringALook is not forgotten with its end.
func TestWhatIsAskedDuringALook(t *testing.T) {
	l := slowLibrary{slow: "slow", asked: make(chan bool, 1), release: make(chan bool)}
	u := newUpdates(&Server{library: l})
	s := &subscriber{client: "slow", told: map[string]string{uri.OfInterpreter("x"): ""}, life: t.Context(), send: func(string, map[string]any) error { return nil }}
	go func() {
		<-l.asked
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(s.told, uri.OfInterpreter("x"))
		s.list, s.restless = true, true
		close(l.release)
	}()
	if u.look(s); !s.restless {
		t.Error("its list is not looked at")
	}
}

// endingLibrary has a run that makes a figure and ends just after the second list.
type endingLibrary struct {
	Library
	lists int
}

func (l *endingLibrary) Own(sessions.Client) []string { return []string{"x"} }

func (l *endingLibrary) Interpreter(sessions.Client, string) (sessions.Listing, error) {
	return sessions.Listing{Running: max(0, 2-l.lists)}, nil
}

func (l *endingLibrary) Executions(sessions.Client, string) ([]sessions.Brief, error) {
	var b sessions.Brief
	if l.lists++; l.lists > 2 {
		b.Figures = []sessions.Figure{{Path: "a.png"}}
	}
	return []sessions.Brief{b}, nil
}

// TestARunThatEndsDuringALook is told of by the next.
func TestARunThatEndsDuringALook(t *testing.T) {
	u := newUpdates(&Server{library: &endingLibrary{}, Options: Options{every: time.Millisecond}})
	defer u.close()
	heard := make(chan string, 1)
	s := &subscriber{told: map[string]string{}, list: true, listed: listState(u.own("")), send: func(method string, _ map[string]any) error {
		heard <- method
		return nil
	}}
	u.mu.Lock()
	u.add(s, s)
	u.mu.Unlock()
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		t.Error("its figure is not told of")
	}
}

// TestWhoLeftIsNotLookedFor, nor anybody once the server has ended.
func TestWhoLeftIsNotLookedFor(t *testing.T) {
	h := newHouse(t, soon)
	c, notifications := h.connect(t, client.WithLegacyProtocolOnly())
	stays, theirs := h.connect(t, client.WithLegacyProtocolOnly())
	call(t, c, "manage_interpreters", `{"operation":"create","interpreter_id":"leaving"}`)
	_, id := run(t, c, `{"code":"x","interpreter_id":"leaving"}`)
	_, staying := run(t, stays, `{"code":"x"}`)
	subscribeTo(t, c, notifications, false, uri.OfInterpreter(id))
	subscribeTo(t, stays, theirs, false, uri.OfInterpreter(staying))
	u, whose := h.resources.updates, map[sessions.Client]bool{}
	owner := func(id string) sessions.Client {
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, s := range u.subscribers {
			whose[s.client] = true
			if _, ok := s.told[uri.OfInterpreter(id)]; ok {
				return s.client
			}
		}
		return ""
	}
	gone := owner(id)
	h.resources.Leave(gone)
	expect(t, owner(id) == "" && owner(staying) != "", "%v", whose)
	h.resources.Close()
	expect(t, owner(staying) == "", "it goes on")
}

func TestSubscriptionsAreBoundedForAClient(t *testing.T) {
	u := newUpdates(&Server{Options: Options{every: time.Hour}})
	defer u.close()
	add := func(client sessions.Client, resources int) {
		s := &subscriber{client: client, told: map[string]string{}}
		for i := range resources {
			s.told[fmt.Sprint(i)] = ""
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.add(s, s)
	}
	add("greedy", mostOfClient-1)
	add("greedy", 1)
	add(sessions.Anonymous, mostOfClient)
	expect(t, u.room("greedy") == 0 && u.room("another") == mostOfClient && u.room(sessions.Anonymous) == mostOfClient,
		"%d, %d, %d", u.room("greedy"), u.room("another"), u.room(sessions.Anonymous))
	add(sessions.Anonymous, mostInAll)
	expect(t, u.room("another") == 0, "%d", u.room("another"))
}

// TestEscapedSubscriptionsAreRefused as any other.
func TestEscapedSubscriptionsAreRefused(t *testing.T) {
	u := newUpdates(&Server{Options: Options{Client: func(context.Context) sessions.Client { return "client" }}})
	for message, refused := range map[string]bool{
		`{"method":"resources/subscribe","params":{"uri":"file:///etc/passwd"}}`:         true,
		`{"method":"resources\/subscribe","params":{"uri":"file:///etc/passwd"}}`:        true,
		`{"method":"\u0072esources/subscribe","params":{"uri":"file:///etc/passwd"}}`:    true,
		`{"method":"resources/unsubscribe","params":{"uri":"file:///etc/passwd"}}`:       false,
		`{"method":"tools/call","params":{"_meta":7,"arguments":"resources/subscribe"}}`: false,
	} {
		err := u.refuse(t.Context(), nil, json.RawMessage(message))
		expect(t, (err != nil) == refused, "%s: %v", message, err)
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(soon) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come true")
		}
	}
}

// TestWhoEscapesTheWholeMethodIsRefused too, in fewer words.
func TestWhoEscapesTheWholeMethodIsRefused(t *testing.T) {
	u := newUpdates(&Server{Options: Options{Client: func(context.Context) sessions.Client { return "client" }}})
	request := &mcp.SubscribeRequest{}
	request.Params.URI = "file:///etc/passwd"
	u.subscribe(t.Context(), nil, request)
	expect(t, request.Params.URI == "" && len(u.subscribers) == 0, "%q", request.Params.URI)
}
