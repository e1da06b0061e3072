package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
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

func awaitUpdate(t *testing.T, notifications chan mcp.JSONRPCNotification, uri string) {
	t.Helper()
	for {
		n := await(t, notifications, mcp.MethodNotificationResourceUpdated)
		if n.Params.AdditionalFields["uri"] == uri {
			return
		}
	}
}

// subscribeTo subscribes in the way of the client's era.
func subscribeTo(t *testing.T, c *client.Client, notifications chan mcp.JSONRPCNotification, modern bool, uris ...string) {
	t.Helper()
	if modern {
		stop, err := c.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: uris, ResourcesListChanged: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		await(t, notifications, mcp.MethodNotificationSubscriptionsAcknowledged)
		return
	}
	for _, uri := range uris {
		if err := subscribe(c, uri); err != nil {
			t.Fatal(err)
		}
	}
}

func subscribe(c *client.Client, uri string) error {
	var request mcp.SubscribeRequest
	request.Params.URI = uri
	return c.Subscribe(context.Background(), request) //nolint:staticcheck // it is how the earlier eras subscribe
}

func TestSubscribersHearOfChanges(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t, soon)
			c, notifications := h.connect(t, options...)
			_, id := run(t, c, `{"code":"more","wait":0}`)
			output, interpreter, record, file := outputURI(id, 1, 0), interpreterURI(id), executionURI(id, 1), fileURI(id, "a.txt")
			call(t, c, "manage_interpreters", `{"operation":"upload","path":"a.txt","content":"x"}`)
			subscribeTo(t, c, notifications, era == "modern", output, interpreter, record, file)
			h.more <- "line"
			awaitUpdate(t, notifications, output)
			if got := readText(t, c, output); !strings.HasPrefix(got, "line\n[") || !strings.Contains(got, "may print more") {
				t.Errorf("%q", got)
			}
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
			if uris := listedURIs(t, c); len(uris) != 3 {
				t.Errorf("%v", uris)
			}
			run(t, c, `{"code":"figure b.png x\nmore","wait":0}`)
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
	_, id := run(t, owner, `{"code":"more","wait":0}`)
	defer close(h.more)
	stranger, theirs := h.connect(t, client.WithLegacyProtocolOnly())
	for uri, words := range map[string]string{
		outputURI(id, 1, 0): "Interpreter " + id + " not found", interpreterURI(id): "not found", fileURI(id, "."): "not found", "file:///etc/passwd": "no such resource",
	} {
		if err := subscribe(stranger, uri); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	modern, notifications := h.connect(t)
	stop, err := modern.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{outputURI(id, 1, 0)}, ResourcesListChanged: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ack := await(t, notifications, mcp.MethodNotificationSubscriptionsAcknowledged)
	if granted := fmt.Sprint(ack.Params.AdditionalFields["notifications"]); strings.Contains(granted, id) || !strings.Contains(granted, "true") {
		t.Errorf("acknowledged: %v", granted)
	}
	h.more <- "secret"
	_, own := run(t, modern, `{"code":"figure own.png x"}`) // what comes now is heard of
	await(t, notifications, mcp.MethodNotificationResourcesListChanged)
	if uris := listedURIs(t, modern); strings.Contains(strings.Join(uris, " "), id) || !strings.Contains(uris[0], own) {
		t.Errorf("%v", uris)
	}
	if len(theirs) != 0 {
		t.Errorf("a stranger heard %v", <-theirs)
	}
}

// TestUpdatesForgetWhoIsGone: neither a client that left nor one that takes
// nothing is kept, and nothing is looked at when nobody is there.
func TestUpdatesForgetWhoIsGone(t *testing.T) {
	h := newHouse(t, soon)
	l := h.shelf
	c, notifications := h.connect(t, client.WithLegacyProtocolOnly())
	_, id := run(t, c, `{"code":"x"}`)
	subscribeTo(t, c, notifications, false, interpreterURI(id))
	var request mcp.UnsubscribeRequest
	request.Params.URI = interpreterURI(id)
	if err := c.Unsubscribe(t.Context(), request); err != nil { //nolint:staticcheck // it is how the earlier eras unsubscribe
		t.Fatal(err)
	}
	subscribeTo(t, c, notifications, false, interpreterURI(id))
	_ = c.Close()
	modern, notifications := h.connect(t)
	stop, err := modern.ListenAsync(t.Context(), mcp.SubscriptionFilter{ResourcesListChanged: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	await(t, notifications, mcp.MethodNotificationSubscriptionsAcknowledged)
	stop()
	eventually(t, func() bool {
		l.updates.mu.Lock()
		defer l.updates.mu.Unlock()
		return len(l.updates.subscribers) == 0 && !l.updates.scheduled
	})

	deaf := &subscriber{client: "nobody", since: time.Now(), told: map[string]string{interpreterURI(id): "a state"}, send: func(string, map[string]any) error {
		return server.ErrNotificationChannelBlocked
	}}
	l.updates.mu.Lock()
	l.updates.add(deaf, deaf)
	l.updates.schedule()
	l.updates.mu.Unlock()
	eventually(t, func() bool {
		l.updates.mu.Lock()
		defer l.updates.mu.Unlock()
		return len(l.updates.subscribers) == 0 && !l.updates.scheduled
	})
}

func TestSubscriptionsAreBounded(t *testing.T) {
	h := newHouse(t, time.Hour)
	c, _ := h.connect(t, client.WithLegacyProtocolOnly())
	_, id := run(t, c, `{"code":"x"}`)
	for i := range mostSubscriptions {
		run(t, c, `{"code":"x"}`)
		if err := subscribe(c, executionURI(id, min(i+1, 100))+strings.Repeat("/stdout", i&1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := subscribe(c, interpreterURI(id)); err == nil || !strings.Contains(err.Error(), "unsubscribe") {
		t.Errorf("%v", err)
	}
	u := h.shelf.updates
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range mostSubscribers + 5 {
		u.add(i, &subscriber{since: time.Now(), client: sessions.Client(fmt.Sprint(i))})
	}
	if len(u.subscribers) != mostSubscribers || u.subscribers[0] != nil || u.subscribers[mostSubscribers+4] == nil {
		t.Errorf("%d subscribers", len(u.subscribers))
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
