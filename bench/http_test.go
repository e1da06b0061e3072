package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEventsAreRead(t *testing.T) {
	stream := newEvents(strings.NewReader(": comment\r\n\r\nid: 7\nevent: endpoint\ndata: /message?a=b\n\ndata: {\"x\":\ndata: 1}\n\ndata:\n\n"))
	for _, want := range [][2]string{{"endpoint", "/message?a=b"}, {"", `{"x":1}`}, {"", ""}} {
		name, data, err := stream.next()
		if err != nil || name != want[0] || string(data) != want[1] {
			t.Errorf("%q, %q, %v; want %q", name, data, err, want)
		}
	}
	if _, _, err := stream.next(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

// TestStreamable: answers come as JSON or as events, and the session is named.
func TestStreamable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     int
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil && r.Method == http.MethodPost {
			t.Error(err)
		}
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "abc")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		case r.Header.Get("Mcp-Session-Id") != "abc":
			w.WriteHeader(http.StatusNotFound)
		case m.ID > 0:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data:\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"+
				"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"text\":\"7006652\"}]}}\n\n")
		}
	}))
	defer server.Close()
	c := &caller{remote: newStreamable(server.URL, ""), tool: "t"}
	defer c.close()
	if err := c.greet(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.run(t.Context(), httpAnswer); err != nil {
		t.Error(err)
	}
}

func TestLossesAreCounted(t *testing.T) {
	c := &caller{remote: fixed(`{"text":"[No output generated]"}`), lost: "[No output generated]"}
	if _, err := c.run(t.Context(), httpAnswer); err != nil || c.losses != 1 {
		t.Errorf("%v, %d losses", err, c.losses)
	}
	c.remote = fixed(`{"text":"something else"}`)
	if _, err := c.run(t.Context(), httpAnswer); err == nil {
		t.Error("a wrong answer was taken")
	}
}

// fixed is a remote that always answers the same.
type fixed string

func (f fixed) exchange(context.Context, int, string, any) (json.RawMessage, error) {
	return json.RawMessage(f), nil
}
func (fixed) notify(context.Context, string) error { return nil }
func (fixed) close()                               {}
