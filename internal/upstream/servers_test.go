package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

func TestAServer(t *testing.T) {
	s := opened(t, nil, "good")
	state := s.States()[0]
	expect(t, state == State{Name: "good", Module: "good", Purpose: "Good things", State: ready, Tools: 7}, "%+v", state)
	body, _ := ask1(t.Context(), t, s, sessions.ToolRequest{Op: sessions.ToolList, Server: "good"})
	var listed struct {
		Instructions string `json:"instructions"`
		Tools        []Tool `json:"tools"`
	}
	must(t, json.Unmarshal([]byte(body), &listed))
	expect(t, listed.Instructions == "Be nice." && len(listed.Tools) == 7, "%s", body)
	for _, test := range []struct{ tool, arguments, want string }{
		{"find", `{"words":"x","limit":5}`, `{"content":[{"text":"found","type":"text"}],"is_error":false,"structured":{"args":{"limit":5,"words":"x"}}}`},
		{"picture", ``, `{"content":[{"text":"a picture","type":"text"},{"attachment":0,"mime_type":"image/png","type":"image"}],"is_error":false}`},
		{"environment", `{}`, `{"content":[{"text":"KEY=[secret] HEARD=heard","type":"text"}],"is_error":false}`},
		{"fail", `{}`, `{"content":[{"text":"no luck","type":"text"}],"is_error":true}`},
	} {
		got, refusal := call(t, s, "good", test.tool, test.arguments)
		if refusal != nil || got != test.want {
			t.Errorf("%s answered %s, %v", test.tool, got, refusal)
		}
	}
	got, _ := ask1(t.Context(), t, s, sessions.ToolRequest{Op: sessions.ToolRead, Server: "good", Name: "test://a"})
	expect(t, got == `{"contents":[{"mime_type":"text/plain","text":"content","type":"resource","uri":"test://a"}]}`, "%s", got)
	got, _ = ask1(t.Context(), t, s, sessions.ToolRequest{Op: sessions.ToolSearch, Name: "issue"})
	expect(t, strings.HasPrefix(got, `{"left_out":0,"tools":[{"server":"good","module":"good","name":"`) && strings.Count(got, "server") == 2 && strings.Contains(got, `"Finds issues by words."`), "%s", got)
}

func TestArguments(t *testing.T) {
	s := opened(t, nil, "good", "schemas")
	for _, test := range []struct{ server, tool, arguments, want string }{
		{"good", "find", `{}`, "words"},
		{"good", "find", `{"words":1}`, "words: "},
		{"good", "find", `[]`, "no JSON object"},
		{"good", "nothing", `{}`, `has no tool "nothing"`},
		{"nobody", "t", `{}`, `no MCP server "nobody"`},
	} {
		_, refusal := call(t, s, test.server, test.tool, test.arguments)
		if refusal == nil || refusal.Kind != sessions.RefusedInvalid || !strings.Contains(refusal.Message, test.want) {
			t.Errorf("%s with %s: %v", test.tool, test.arguments, refusal)
		}
	}
	// Schemas that nobody can make sense of are their server's to judge; none is fetched.
	for _, tool := range []string{"recursive", "remote", "file", "broken"} {
		got, refusal := call(t, s, "schemas", tool, `{"a":{"b":1}}`)
		expect(t, refusal == nil && strings.Contains(got, `"ok"`), "%s: %s %v", tool, got, refusal)
	}
	expect(t, s.States()[1].Tools == 4, "the tool with 3 MB of schema is there: %+v", s.States())
}

func TestNames(t *testing.T) {
	s := opened(t, nil, "names")
	var got []string
	for _, tool := range s.Tools("names") {
		got = append(got, tool.Function)
	}
	want := "class_ class__2 import_ tool_1st a_b a_b_2 a_b_3 tool servers_ None_"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
}

func TestHostileServers(t *testing.T) {
	s := opened(t, func(o *Options) { o.startTime = 2 * time.Second }, "endless", "huge", "silent", "mute", "deaf", "garbage", "odd")
	states := map[string]State{}
	for _, state := range s.States() {
		states[state.Name] = state
	}
	expect(t, states["endless"].Tools == mostTools && states["garbage"].State == ready, "%+v", states)
	for _, name := range []string{"mute", "deaf"} {
		expect(t, states[name].State == failed && strings.Contains(states[name].Problem, "within 2s"), "%+v", states[name])
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, refusal := call(t, s, "huge", "t", `{}`)
	runtime.ReadMemStats(&after)
	expect(t, refusal != nil && refusal.Kind == sessions.RefusedLimit, "%v", refusal)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 300 {
		t.Errorf("an answer of 100 MB took %d MB", grown)
	}
	if _, refusal = call(t, s, "odd", "t", `{}`); refusal != nil {
		expect(t, refusal.Kind == sessions.RefusedUnavailable, "%v", refusal)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, refusal = ask1(ctx, t, s, sessions.ToolRequest{Op: sessions.ToolCall, Server: "silent", Name: "t"})
	expect(t, refusal != nil && refusal.Kind == sessions.RefusedCancelled, "%v", refusal)
	heard := s.server1(t, "silent").env["HEARD"]
	eventually(t, "the server hears that it is cancelled", func() bool { _, err := os.Stat(heard); return err == nil })
	eventually(t, "the server that sent too much is back", func() bool { return s.server1(t, "huge").State().State == ready })
}

func (s *Servers) server1(t *testing.T, name string) *server {
	one, err := s.server(name)
	must(t, err)
	return one
}

func TestDeathInTheMidst(t *testing.T) {
	var said log
	s := opened(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}, "good")
	_, refusal := call(t, s, "good", "die", `{}`)
	expect(t, refusal != nil && refusal.Kind == sessions.RefusedUnavailable && strings.Contains(refusal.Message, "may have done or not"), "%v", refusal)
	eventually(t, "its death is told", func() bool { return s.States()[0].State != ready })
	eventually(t, "it is back", func() bool { return s.States()[0].State == ready })
	got, refusal := call(t, s, "good", "fail", `{}`)
	expect(t, refusal == nil && strings.Contains(got, "no luck"), "%s %v", got, refusal)
	eventually(t, "its last words are logged", func() bool { return strings.Contains(said.String(), "[secret]") })
	if text := said.String(); strings.Contains(text, "s3cret-token") {
		t.Errorf("a secret is in the log: %s", text)
	}
}

func TestListsFollow(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) *Servers{
		"stdio": func(t *testing.T) *Servers { return opened(t, nil, "good") },
		"HTTP": func(t *testing.T) *Servers {
			return overNetwork(t, mcpserver.NewStreamableHTTPServer(goodServer()), "http", "")
		},
		"SSE": func(t *testing.T) *Servers {
			return overNetwork(t, mcpserver.NewSSEServer(goodServer()), "sse", "/sse")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			insist(t, s.States()[0].State == ready, "%+v", s.States())
			changed := make(chan struct{}, 100)
			s.OnChange(func() { changed <- struct{}{} })
			_, refusal := call(t, s, s.all[0].name, "grow", `{}`)
			insist(t, refusal == nil, "%v", refusal)
			for s.States()[0].Tools != 8 {
				select {
				case <-changed:
				case <-time.After(20 * time.Second):
					t.Fatal("the list has not followed")
				}
			}
		})
	}
}

// overNetwork opens a server that is reached over HTTP.
func overNetwork(t *testing.T, h http.Handler, transport, path string) *Servers {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "s3cret-token" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	t.Cleanup(site.CloseClientConnections)
	return openedWith(t, nil, map[string]any{"web": map[string]any{"type": transport, "url": site.URL + path, "headers": map[string]string{"X-Key": "s3cret-token"}}})
}

// A redirect to another place does not take the keys along.
func TestRedirects(t *testing.T) {
	got := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("X-Key") }))
	t.Cleanup(other.Close)
	here := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(here.Close)
	s := openedWith(t, nil, map[string]any{"web": map[string]any{"url": here.URL, "headers": map[string]string{"X-Key": "s3cret-token"}}})
	expect(t, s.States()[0].State == failed && !strings.Contains(s.States()[0].Problem, "s3cret"), "%+v", s.States())
	select {
	case key := <-got:
		expect(t, key == "", "the other place got %q", key)
	default:
	}
}

func TestCloseEndsProcesses(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	s := openedWith(t, func(o *Options) { o.startTime = time.Second }, map[string]any{
		"shell": map[string]any{"command": "sh", "args": []string{"-c", "sleep 1000 & echo $! >" + pid + "; wait"}},
	})
	s.Close()
	text, err := os.ReadFile(pid)
	must(t, err)
	eventually(t, "what it has started is gone", func() bool {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}
