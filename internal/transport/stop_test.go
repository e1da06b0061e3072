package transport

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
			_, body := h.send(t, q)
			expect(t, textOf(t, body) == "finished", "%v", body)
		})
		soon(t, h.tools.began)
	}
	h.send(t, messages.saying(calling(3, "wait", "")))
	soon(t, h.tools.began)
	idle := bufio.NewReader(h.raw(t, h.head("GET", "/nowhere")))
	response, err := http.ReadResponse(idle, nil)
	must(t, err)
	if err := response.Body.Close(); err != nil { // reads it to its end
		t.Fatal(err)
	}

	h.stop()
	soon(t, interrupted)
	all.Wait()
	text := textOf(t, stream.next())
	expect(t, text == "finished", "%v", text)
	for _, s := range []*events{stream, listening} {
		event := s.next()
		expect(t, event == "", "not the end of a stream: %s", event)
	}
	must(t, soon(t, h.over))
	h.over <- nil
	if _, err := idle.ReadByte(); err == nil {
		t.Error("an idle connection outlived the server")
	}
	if c, err := net.Dial("tcp", h.addr); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
	n := h.tools.ran.Load()
	expect(t, n == 3, "%d tools ran", n)
}

// TestStoppingListens: as long as calls run, who comes on a connection of his own
// can end them, answer their questions and ask for health; nothing new begins, and calls
// that end by themselves are not interrupted.
func TestStoppingListens(t *testing.T) {
	health := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := open(t, HTTPOptions{
		StopGrace: time.Hour, Interrupt: func() { t.Error("interrupted") }, Routes: map[string]Route{"/readyz": {Handler: health}},
	})
	h.http.Transport = &http.Transport{DisableKeepAlives: true}
	id := h.session(t)
	asked, _ := h.follow(t.Context(), t, post(calling(1, "ask", "")).with(mcpSession, id))
	question := asked.next()
	running := h.later(t, post(calling(2, "wait", "")).with(mcpSession, id))
	soon(t, h.tools.began)
	stream, messages := h.stream(t.Context(), t)
	h.send(t, messages.saying(calling(3, "wait", "")))
	soon(t, h.tools.began)

	h.stop()
	eventually(t, "the beginning of the end", h.work.isStopping)
	for name, q := range map[string]request{
		"a call":            post(calling(4, "remember", "")).with(mcpSession, id),
		"one over SSE":      messages.saying(calling(4, "remember", "")),
		"of the newest era": inModern(t, post(calling(4, "remember", ""))),
		"a client":          post(initialize),
		"a stream":          request{method: "GET", path: StreamablePath}.with(mcpSession, id),
		"one of SSE":        {method: "GET", path: SSEPath},
		"a subscription":    listening(t, 4),
	} {
		response, err := h.try(t.Context(), q)
		must(t, err)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable || !response.Close || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s %v", name, response.Status, response.Header)
		}
	}
	h.answers(t, "health", request{method: "GET", path: "/readyz"}, http.StatusTeapot)
	h.send(t, post(answering(t, question)).with(mcpSession, id))
	text := textOf(t, asked.next())
	expect(t, text == "acceptmap[name:Ann]", "%v", text)
	for n, q := range map[int]request{2: post("").with(mcpSession, id), 3: messages} {
		h.answers(t, "a cancellation", q.saying(cancelling(fmt.Sprint(n))), http.StatusAccepted)
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

// raw is a connection on which a test has said what it likes.
func (h *house) raw(t *testing.T, said string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	// What the system would keep for a client that does not read is little.
	must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	must(t, conn.SetDeadline(time.Now().Add(patient)))
	_, err = io.WriteString(conn, said)
	must(t, err)
	return conn
}

func (h *house) head(method, path string, lines ...string) string {
	lines = append([]string{method + " " + path + " HTTP/1.1", "Host: " + h.addr}, lines...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// written is a message as it goes over a connection.
func (h *house) written(q request) string {
	lines := []string{fmt.Sprint("Content-Length: ", len(q.body))}
	for name, value := range q.header {
		lines = append(lines, name+": "+value)
	}
	return h.head(q.method, q.path, lines...) + q.body
}

// TestSlowSenders: who sends a body slowly, or not at all, is not waited for,
// whatever becomes of the request otherwise.
func TestSlowSenders(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}, sending: 50 * time.Millisecond})
	const json = "Content-Type: application/json"
	for name, test := range map[string]struct {
		head   string
		status string
	}{
		"a call":        {h.head("POST", StreamablePath, json, "Authorization: Bearer ann", "Content-Length: 100"), "408"},
		"in chunks":     {h.head("POST", StreamablePath, json, "Authorization: Bearer ann", "Transfer-Encoding: chunked") + "1\r\n{\r\n", "408"},
		"not let in":    {h.head("POST", StreamablePath, json, "Content-Length: 100"), "401"},
		"a foreign one": {h.head("POST", StreamablePath, json, "Origin: https://evil.example", "Content-Length: 100"), "403"},
		"to nowhere":    {h.head("POST", "/nowhere", "Content-Length: 100"), "404"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := io.ReadAll(h.raw(t, test.head+"{")) // to its end: the connection is closed
			expect(t, err == nil, "the connection stays open: %v", err)
			expect(t, strings.HasPrefix(string(answer), "HTTP/1.1 "+test.status), "%q", answer)
		})
	}
}

// TestALongCallOutlivesTheTimeForItsBody: and the connection is good for more.
func TestALongCallOutlivesTheTimeForItsBody(t *testing.T) {
	t.Parallel()
	h := open(t, HTTPOptions{sending: 500 * time.Millisecond, reading: 500 * time.Millisecond, heartbeat: time.Hour})
	conn := h.raw(t, "")
	answers := bufio.NewReader(conn)
	for range 2 {
		_, err := io.WriteString(conn, h.written(inModern(t, post(calling(1, "wait", "")))))
		must(t, err)
		soon(t, h.tools.began)
		time.Sleep(1500 * time.Millisecond) // longer than all deadlines: nothing may happen
		h.tools.finish <- struct{}{}
		response, err := http.ReadResponse(answers, nil)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		expect(t, err == nil && textOf(t, string(body)) == "finished", "%q, %v", body, err)
	}
}

// TestSlowReaders: who does not take what it asked for is given up.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	left := make(chan string, 1)
	answered := make(chan Exchange, 10)
	h := open(t, HTTPOptions{
		reading: 500 * time.Millisecond, Left: func(client string, _ bool) { left <- client }, Observe: func(e Exchange) { answered <- e },
	})
	large := post(calling(1, "large", `{"bytes":8000000}`))
	h.raw(t, h.written(inModern(t, large)))
	if e := soon(t, answered); e.RPC != "tools/call" || e.Sent >= 8_000_000 || !h.work.wait(patient) {
		t.Errorf("%+v", e)
	}

	var path string
	for lines := bufio.NewScanner(h.raw(t, h.head("GET", SSEPath))); path == "" && lines.Scan(); {
		_, path, _ = strings.Cut(lines.Text(), "data: ")
	}
	h.answers(t, "over SSE", at(large, path), http.StatusAccepted)
	if client := soon(t, left); client != "session:"+path[strings.Index(path, "=")+1:] {
		t.Error(client)
	}
}

// TestSilentStreamsShowLife, so that proxies and clients keep them.
func TestSilentStreamsShowLife(t *testing.T) {
	h := open(t, HTTPOptions{heartbeat: 10 * time.Millisecond})
	id := h.session(t)
	sse, _ := h.stream(t.Context(), t)
	older, _ := h.follow(t.Context(), t, request{method: "GET", path: StreamablePath}.with(mcpSession, id, "Accept", "text/event-stream"))
	newest, _ := h.follow(t.Context(), t, listening(t, 1))
	for name, stream := range map[string]*events{"SSE": sse, "older era": older, "newest era": newest} {
		for beats := 0; beats < 3; {
			event := soon(t, stream.all)
			insist(t, event != "", "%s: it ended", name)
			if event == ":" {
				beats++
			}
		}
	}
}

// deadlines are those that a connection was given.
type deadlines struct {
	http.ResponseWriter
	all []time.Time
}

func (d *deadlines) SetReadDeadline(until time.Time) error {
	d.all = append(d.all, until)
	return nil
}

// TestABodyMayNotTakeForEver: what comes gives it time, but not without end.
func TestABodyMayNotTakeForEver(t *testing.T) {
	const size = 16 << 20 // at the slowest rate 17 minutes
	b := newBodies(size, sending)
	r := httptest.NewRequest(http.MethodPost, StreamablePath, strings.NewReader(strings.Repeat(" ", size)))
	r.Header.Set("Content-Type", "application/json")
	given := &deadlines{ResponseWriter: httptest.NewRecorder()}
	began := time.Now()
	_, release, ok := b.read(given, r)
	insist(t, ok, "not read")
	release()
	var latest time.Time
	for _, until := range given.all {
		if until.After(latest) {
			latest = until
		}
	}
	if latest.Before(began.Add(wholeBody)) || latest.After(time.Now().Add(wholeBody)) {
		t.Errorf("it had %s", latest.Sub(began))
	}
}
