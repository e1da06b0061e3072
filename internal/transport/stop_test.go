package transport

import (
	"bufio"
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
	eventually(t, "the beginning of the end", h.work.isStopping)
	refused, err := h.try(t.Context(), inModern(t, post(calling(4, "remember", ""))))
	if err == nil { // else nothing listens any more
		_ = refused.Body.Close()
		if refused.StatusCode != http.StatusServiceUnavailable {
			t.Error(refused.Status)
		}
	}
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
