package transport

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestStopping: calls get their grace, then they are interrupted, and all are
// answered; streams end; nobody new comes in.
func TestStopping(t *testing.T) {
	interrupted := make(chan struct{})
	var h *house
	h = open(t, HTTPOptions{StopGrace: 100 * time.Millisecond, Interrupt: func() {
		close(interrupted)
		for range 3 {
			h.tools.finish <- struct{}{}
		}
	}, Left: func(client string, _ bool) { t.Errorf("%s left", client) }})
	id := h.session(t)
	listening, _ := h.follow(t.Context(), t, request{method: "GET", path: StreamablePath}.with(mcpSession, id))
	stream, messages := h.stream(t.Context(), t)
	var all sync.WaitGroup
	for _, q := range []request{inModern(t, post(calling(1, "wait", ""))), post(calling(2, "wait", "")).with(mcpSession, id)} {
		all.Go(func() {
			if _, body := h.send(t, q); textOf(t, body) != "finished" {
				t.Error(body)
			}
		})
		soon(t, h.tools.began)
	}
	h.send(t, messages.saying(calling(3, "wait", "")))
	soon(t, h.tools.began)
	conn := h.raw(t)
	if _, err := io.WriteString(conn, h.head("GET", "/nowhere")); err != nil {
		t.Fatal(err)
	}
	idle := bufio.NewReader(conn)
	response, err := http.ReadResponse(idle, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil { // reads it to its end
		t.Fatal(err)
	}

	h.stop()
	soon(t, interrupted)
	all.Wait()
	if text := textOf(t, stream.next()); text != "finished" {
		t.Error(text)
	}
	for _, s := range []*events{stream, listening} {
		if event := s.next(); event != "" {
			t.Errorf("not the end of a stream: %s", event)
		}
	}
	if err := soon(t, h.over); err != nil {
		t.Error(err)
	}
	h.over <- nil
	if _, err := idle.ReadByte(); err == nil {
		t.Error("an idle connection outlived the server")
	}
	if c, err := net.Dial("tcp", h.addr); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
	if n := h.tools.ran.Load(); n != 3 {
		t.Errorf("%d tools ran", n)
	}
}

// TestStoppingInTime: calls that end by themselves are not interrupted.
func TestStoppingInTime(t *testing.T) {
	h := open(t, HTTPOptions{StopGrace: time.Hour, Interrupt: func() { t.Error("interrupted") }})
	answered := make(chan string, 1)
	go func() {
		_, body := h.send(t, inModern(t, post(calling(1, "wait", ""))))
		answered <- body
	}()
	soon(t, h.tools.began)
	h.stop()
	eventually(t, "the beginning of the end", h.work.isStopping)
	h.tools.finish <- struct{}{}
	if text := textOf(t, soon(t, answered)); text != "finished" {
		t.Error(text)
	}
}

// TestStoppingListens: as long as calls run, who comes on a connection of his own
// can end them, answer their questions and ask for health; nothing new begins.
func TestStoppingListens(t *testing.T) {
	health := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := open(t, HTTPOptions{StopGrace: time.Hour, Routes: map[string]http.Handler{"/readyz": health}})
	h.http.Transport = &http.Transport{DisableKeepAlives: true}
	id := h.session(t)
	asked, _ := h.follow(t.Context(), t, post(calling(1, "ask", "")).with(mcpSession, id))
	question := asked.next()
	running := make(chan struct{})
	go func() {
		defer close(running)
		h.send(t, post(calling(2, "wait", "")).with(mcpSession, id))
	}()
	soon(t, h.tools.began)
	stream, messages := h.stream(t.Context(), t)
	h.send(t, messages.saying(calling(3, "wait", "")))
	soon(t, h.tools.began)

	h.stop()
	eventually(t, "the beginning of the end", h.work.isStopping)
	listen := `{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["test://one"]}}}`
	for name, q := range map[string]request{
		"a call":            post(calling(4, "remember", "")).with(mcpSession, id),
		"one over SSE":      messages.saying(calling(4, "remember", "")),
		"of the newest era": inModern(t, post(calling(4, "remember", ""))),
		"a client":          post(initialize),
		"a stream":          request{method: "GET", path: StreamablePath}.with(mcpSession, id),
		"one of SSE":        {method: "GET", path: SSEPath},
		"a subscription":    inModern(t, post(listen)),
	} {
		response, err := h.try(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable || !response.Close || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s %v", name, response.Status, response.Header)
		}
	}
	if response, _ := h.send(t, request{method: "GET", path: "/readyz"}); response.StatusCode != http.StatusTeapot {
		t.Errorf("health: %s", response.Status)
	}
	h.send(t, post(answering(t, question)).with(mcpSession, id))
	if text := textOf(t, asked.next()); text != "acceptmap[name:Ann]" {
		t.Error(text)
	}
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
	for n, q := range map[int]request{2: post("").with(mcpSession, id), 3: messages} {
		if response, body := h.send(t, q.saying(fmt.Sprintf(cancelled, n))); response.StatusCode != http.StatusAccepted {
			t.Errorf("%s %s", response.Status, body)
		}
		soon(t, h.tools.ended)
	}
	if err := soon(t, h.over); err != nil { // long before the grace is over
		t.Error(err)
	}
	h.over <- nil
	soon(t, running)
	for stream.next() != "" { // to its end
	}
}
