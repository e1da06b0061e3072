package transport

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// FuzzHTTP: whatever is sent, nothing panics; and what has a foreign origin, or
// no type of JSON, runs no tool and opens no session.
func FuzzHTTP(f *testing.F) {
	call := inModern(f, post(calling(1, "remember", "")))
	headers := func(q request) string {
		var lines []string
		for name, value := range q.header {
			lines = append(lines, name+": "+value)
		}
		return strings.Join(lines, "\n")
	}
	f.Add("POST", StreamablePath, "127.0.0.1", headers(call), call.body)
	f.Add("POST", StreamablePath, "127.0.0.1", headers(call)+"\nOrigin: https://evil.example", call.body)
	f.Add("POST", StreamablePath, "evil.example", headers(call), call.body)
	f.Add("POST", StreamablePath, "localhost", headers(post("")), initialize)
	f.Add("POST", StreamablePath, "localhost", headers(post(""))+"\nMcp-Session-Id: ABC", calling(1, "remember", ""))
	f.Add("POST", MessagePath+"?sessionId=ABC", "localhost", headers(post("")), calling(1, "remember", ""))
	f.Add("GET", SSEPath, "[::1]:1", "", "")
	f.Add("GET", StreamablePath, "localhost", "Mcp-Session-Id: ABC\nLast-Event-Id: 7", "")
	f.Add("DELETE", StreamablePath, "localhost", "Mcp-Protocol-Version: 2026-07-28", "")
	f.Add("OPTIONS", "//mcp", "localhost", "Origin: null\nAccess-Control-Request-Method: POST", "[]")
	f.Add("POST", StreamablePath, "localhost", "Content-Type: application/json", `{"id":{},"method":"notifications/cancelled","params":{"requestId":[]}}`)

	stop := inModern(f, post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`))
	for _, body := range disguised(stop.body) {
		f.Add("POST", StreamablePath, "localhost", headers(stop), body)
	}

	tools := newTools()
	faults := &faults{}
	h := NewHTTP(tools.server(), HTTPOptions{Streamable: true, SSE: true, Logger: slog.New(faults)})
	f.Cleanup(func() { h.work.endStreams(); h.work.tasks.Wait() })
	victim := begun(f, h, tools)
	f.Fuzz(func(t *testing.T, method, target, host, head, body string) {
		r, ok := fuzzed(method, target, host, head, body)
		if !ok {
			t.Skip("net/http would not let it through")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // streams last
		defer cancel()
		before, sessions := tools.ran.Load(), len(h.peers.byID)
		answer := httptest.NewRecorder()
		h.handler.ServeHTTP(answer, r.WithContext(ctx))
		h.work.tasks.Wait()
		insist(t, faults.panicked == "", "%v", faults.panicked)
		acted := tools.ran.Load() > before || len(h.peers.byID) > sessions
		expect(t, !acted || !isSuspect(r), "%s %s %v acted: %s", r.Method, r.URL, r.Header, answer.Body)
		insist(t, len(victim) == 0, "%s %s %v cancelled another's call: %s", r.Method, r.URL, r.Header, body)
		clear(h.peers.byID)
	})
}

// begun is a call that nobody but its own client may end, which the end of the
// test does; its answer comes out.
func begun(f *testing.F, h *HTTP, tl *tools) <-chan string {
	q := inModern(f, post(calling(7, "wait", "")))
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	r.Host = "localhost"
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	answered := make(chan string, 1)
	go func() {
		answer := httptest.NewRecorder()
		h.handler.ServeHTTP(answer, r)
		answered <- answer.Body.String()
	}()
	soon(f, tl.began)
	f.Cleanup(func() {
		tl.finish <- struct{}{}
		text := textOf(f, soon(f, answered))
		expect(f, text == "finished", "a stranger cancelled a call: %s", text)
	})
	return answered
}

func fuzzed(method, target, host, head, body string) (*http.Request, bool) {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, false
	}
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewBufferString(body))
	r.Method, r.URL, r.Host = method, u, host
	for line := range strings.SplitSeq(head, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Add(name, value)
		}
	}
	return r, true
}

// isSuspect is true for what only a page in a browser, or nobody, would send.
// It is said in other words than the guard's.
func isSuspect(r *http.Request) bool {
	for name, values := range r.Header {
		for _, value := range values {
			switch {
			case name == "Origin" && !strings.EqualFold(value, "http://"+r.Host),
				name == "Sec-Fetch-Site" && strings.HasSuffix(value, "-site"):
				return true
			}
		}
	}
	return r.Method == http.MethodPost && !strings.Contains(strings.ToLower(r.Header.Get("Content-Type")), "application/json")
}

// faults is a log that remembers a panic.
type faults struct{ panicked string }

func (f *faults) Enabled(context.Context, slog.Level) bool { return true }
func (f *faults) WithAttrs([]slog.Attr) slog.Handler       { return f }
func (f *faults) WithGroup(string) slog.Handler            { return f }
func (f *faults) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "panic") {
		r.Attrs(func(a slog.Attr) bool { f.panicked += a.String() + "\n"; return true })
	}
	return nil
}
