package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

func context20(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), 20*time.Millisecond)
}

// httpServer is the honest server over HTTP, which asks for a header.
func httpServer(t *testing.T, sse, old bool) map[string]any {
	t.Helper()
	var handler http.Handler = mcpserver.NewStreamableHTTPServer(honest())
	path := "/mcp"
	if sse {
		handler, path = mcpserver.NewSSEServer(honest()), "/sse"
	}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "sesame-open-12345" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if r.Body = io.NopCloser(bytes.NewReader(body)); old && bytes.Contains(body, []byte("server/discover")) {
			http.Error(w, "not known", http.StatusBadRequest)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return map[string]any{"url": ts.URL + path, "headers": map[string]string{"X-Api-Key": "sesame-open-12345"}}
}

// Each way to a server does the same.
func TestTransports(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	for name, definition := range map[string]func(*testing.T) map[string]any{
		"stdio": func(*testing.T) map[string]any {
			return map[string]any{"command": self, "env": map[string]string{"UPSTREAM_TEST_SERVER": "honest"}}
		},
		"http":        func(t *testing.T) map[string]any { return httpServer(t, false, false) },
		"http of old": func(t *testing.T) map[string]any { return httpServer(t, false, true) },
		"sse of old":  func(t *testing.T) map[string]any { return httpServer(t, true, true) },
		"sse":         func(t *testing.T) map[string]any { return httpServer(t, true, false) }, // found out by itself
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openServers(t, Options{}, map[string]any{"one": definition(t)})
			until(t, s, func() bool { return s.States()[0].State == stateReady })
			checkCalls(t, s)
			checkCancel(t, s)
			checkGrowth(t, s)
		})
	}
}

func checkCalls(t *testing.T, s *Servers) {
	t.Helper()
	ctx := soon(t)
	expect(t, s.States()[0].Purpose == "Adds numbers." && s.States()[0].Tools == 6, "the state is %+v", s.States()[0])
	got, _, err := callTool(ctx, t, s, "one", "add", `{"first":1,"second":2}`)
	must(t, err)
	expect(t, string(got.Structured) == `{"sum":3}` && got.Content[0].Text == "done", "the sum is %+v", got)
	got, _, err = callTool(ctx, t, s, "one", "delete-all", "")
	must(t, err)
	expect(t, got.IsError && got.Content[0].Text == "nothing is there", "the error is %+v", got)
	got, answer, err := callTool(ctx, t, s, "one", "picture", "null")
	must(t, err)
	expect(t, len(got.Content) == 3 && got.Content[0].Type == "image" && string(answer.Attachments[*got.Content[0].Attachment]) == "pixels" &&
		got.Content[1].URI == "x://1" && got.Content[2].Text == "two", "the picture is %s", answer.Body)
	answer, err = s.Answer(ctx, sessions.ToolRequest{Op: sessions.ToolRead, Server: "one", Name: "x://text"})
	must(t, err)
	expect(t, strings.Contains(string(answer.Body), `"text":"hello"`) && string(answer.Attachments[0]) == "bytes", "the resource is %s", answer.Body)
	_, err = s.Answer(ctx, sessions.ToolRequest{Op: sessions.ToolRead, Server: "one", Name: "x://nowhere"})
	refused(t, err, sessions.RefusedInvalid, "x://nowhere")
}

// checkCancel has a call given up, which its server is told.
func checkCancel(t *testing.T, s *Servers) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(soon(t))
	done := make(chan error, 1)
	arguments, err := json.Marshal(map[string]string{"file": file})
	must(t, err)
	go func() {
		_, err := s.Answer(ctx, sessions.ToolRequest{Op: sessions.ToolCall, Server: "one", Name: "wait", Arguments: arguments})
		done <- err
	}()
	awaitText(t, file, "begun")
	cancel()
	refused(t, <-done, sessions.RefusedCancelled)
	awaitText(t, file, "cancelled")
}

func awaitText(t *testing.T, file, text string) {
	t.Helper()
	ctx := soon(t)
	for ticks := time.NewTicker(5 * time.Millisecond); ; {
		if got, _ := os.ReadFile(file); string(got) == text {
			ticks.Stop()
			return
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			t.Fatalf("%s never had %q", file, text)
		}
	}
}

// checkGrowth has a tool come up while the server runs.
func checkGrowth(t *testing.T, s *Servers) {
	t.Helper()
	_, _, err := callTool(soon(t), t, s, "one", "grow", "")
	must(t, err)
	until(t, s, func() bool { return s.States()[0].Tools == 7 })
	got, _, err := callTool(soon(t), t, s, "one", "grown", "")
	must(t, err)
	expect(t, got.Content[0].Text == "new", "the new tool said %+v", got)
}

// The environment of a server is what programs need and the file says, and its secrets
// reach nobody.
func TestEnvironmentAndSecrets(t *testing.T) {
	t.Setenv("UPSTREAM_TEST_OURS", "private")
	s := stdioServers(t, Options{}, "honest")
	got, _, err := callTool(soon(t), t, s, "honest", "environ", "")
	must(t, err)
	environ := got.Content[0].Text
	expect(t, strings.Contains(environ, "PATH=") && strings.Contains(environ, "DIRECTORY=/data/projects"), "the environment is %s", environ)
	expect(t, !strings.Contains(environ, "UPSTREAM_TEST_OURS") && strings.Contains(environ, "API_TOKEN=***"), "the environment has secrets: %s", environ)
}

// What HTTP servers are told is told to no other host, and no error has it.
func TestRedirectsAndErrors(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked.Store(true) }))
	defer other.Close()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/mcp?key="+r.URL.Query().Get("key"), http.StatusTemporaryRedirect)
	}))
	defer ts.Close()
	var log logged
	s := openServers(t, Options{Logger: log.logger()}, map[string]any{"away": map[string]any{
		"type": "http", "url": ts.URL + "/mcp?key=sesame-open-12345", "headers": map[string]string{"Authorization": "Bearer abcdefgh123"},
	}})
	s.Ready(soon(t))
	state := s.States()[0]
	expect(t, state.State == stateFailed && strings.Contains(state.Problem, "redirects elsewhere"), "the state is %+v", state)
	_, _, err := callTool(soon(t), t, s, "away", "any", "")
	refused(t, err, sessions.RefusedUnavailable, "redirects elsewhere", "tried again")
	for _, secret := range []string{"sesame", "abcdefgh123"} {
		expect(t, !strings.Contains(log.String()+state.Problem+err.Error(), secret), "%s is in %s%s", secret, log.String(), state.Problem)
	}
	expect(t, !leaked.Load(), "another host was asked")
}

// Answers over HTTP are bounded, in one piece or in events.
func TestHTTPBounds(t *testing.T) {
	t.Parallel()
	for _, events := range []bool{false, true} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&request)
			result := ""
			switch request.Method {
			case "initialize":
				result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}`
			case "tools/list":
				result = `{"tools":[{"name":"huge","inputSchema":{"type":"object"}}]}`
			case "tools/call":
				result = `{"content":[{"type":"text","text":"` + strings.Repeat("x", 40<<20) + `"}]}`
			default:
				w.WriteHeader(http.StatusAccepted)
				return
			}
			before, behind := "", ""
			w.Header().Set("Content-Type", "application/json")
			if events {
				w.Header().Set("Content-Type", "text/event-stream")
				before, behind = "data: ", "\n\n"
			}
			_, _ = w.Write([]byte(before + `{"jsonrpc":"2.0","id":` + string(request.ID) + `,"result":` + result + "}" + behind))
		}))
		s := openServers(t, Options{}, map[string]any{"big": map[string]any{"url": ts.URL}})
		_, _, err := callTool(soon(t), t, s, "big", "huge", "")
		refused(t, err, sessions.RefusedLimit, "32 MiB")
		expect(t, s.States()[0].State == stateReady, "it is %+v", s.States()[0])
		s.Close()
		ts.Close()
	}
}

func TestPermit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "consents")
	self, err := os.Executable()
	must(t, err)
	definition := map[string]any{"honest": map[string]any{"command": self, "env": map[string]string{"UPSTREAM_TEST_SERVER": "honest"},
		"autoApprove": []string{"grow"}, "disabledTools": []string{"environ"}}}
	s := openServers(t, Options{Dir: dir, Allow: []string{"honest.wait"}}, definition)
	permit := func(s *Servers, client sessions.Client, tool string) *sessions.Consent {
		consent, err := s.Permit(t.Context(), client, sessions.ToolRequest{Op: sessions.ToolCall, Server: "honest", Name: tool, Arguments: json.RawMessage(`{"what":"` + "\u202e" + strings.Repeat("z", 2000) + `"}`)})
		must(t, err)
		return consent
	}
	for _, tool := range []string{"add", "grow", "wait"} {
		expect(t, permit(s, "a", tool) == nil, "%s is asked for", tool)
	}
	_, err = s.Permit(t.Context(), "a", sessions.ToolRequest{Server: "honest", Name: "environ"})
	refused(t, err, sessions.RefusedDenied, "disabledTools")
	consent := permit(s, "a", "delete-all")
	insist(t, consent != nil, "nobody is asked")
	for _, words := range []string{"delete-all", "honest", `"Deletes\x1b[2J all. Really."`, `\u202e`} {
		expect(t, strings.Contains(consent.Text, words), "the text does not say %q: %s", words, consent.Text)
	}
	expect(t, len(consent.Text) < 2500, "the text has %d bytes", len(consent.Text))
	must(t, s.Allow("a", *consent))
	expect(t, permit(s, "a", "delete-all") == nil && permit(s, "b", "delete-all") != nil, "the consent is not the client's alone")
	info, err := os.Stat(filepath.Join(dir, "tools.json"))
	must(t, err)
	expect(t, info.Mode().Perm() == 0o600, "the file has mode %v", info.Mode())

	again := openServers(t, Options{Dir: dir}, definition)
	expect(t, permit(again, "a", "delete-all") == nil, "the consent was forgotten")
	definition["honest"].(map[string]any)["args"] = []string{"--other"}
	other := openServers(t, Options{Dir: dir}, definition)
	expect(t, permit(other, "a", "delete-all") != nil, "the consent holds for another program of the same name")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "honest")
	for arguments, words := range map[string]string{
		`{"frist":1,"second":2}`:       `did you mean "first"`,
		`{"first":1}`:                  `second`,
		`{"first":"1","second":2}`:     `argument "first"`,
		`[1]`:                          `JSON object`,
		`{"first":1,"second":2,"x":3}`: `it takes first, second`,
	} {
		_, _, err := callTool(soon(t), t, s, "honest", "add", arguments)
		refused(t, err, sessions.RefusedInvalid, "honest.add", words)
	}
	_, _, err := callTool(soon(t), t, s, "honest", "ad", "{}")
	refused(t, err, sessions.RefusedInvalid, `did you mean "add"`)
	_, _, err = callTool(soon(t), t, s, "honset", "add", "{}")
	refused(t, err, sessions.RefusedInvalid, `did you mean "honest"`)
	big := `{"first":1e999999999,"second":2}` // whose digits would fill the memory
	of, err := s.server("honest")
	must(t, err)
	add, err := of.tool("add")
	must(t, err)
	_, err = add.checkArguments("honest", json.RawMessage(big))
	must(t, err)
}

func TestSearchAndCatalog(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "honest", "million")
	s.Ready(soon(t))
	answer, err := s.Answer(t.Context(), sessions.ToolRequest{Op: sessions.ToolSearch, Name: "ADD numbers"})
	must(t, err)
	var got struct {
		Tools   []found
		LeftOut int `json:"left_out"`
	}
	must(t, json.Unmarshal(answer.Body, &got))
	insist(t, len(got.Tools) > 0 && got.Tools[0].Function == "add" && got.Tools[0].Summary == "Adds two numbers.", "found %s", answer.Body)
	answer, err = s.Answer(t.Context(), sessions.ToolRequest{Op: sessions.ToolSearch, Name: "tool"})
	must(t, err)
	must(t, json.Unmarshal(answer.Body, &got))
	expect(t, len(got.Tools) == searchLimit && got.LeftOut == toolsLimit-searchLimit, "found %d, left out %d", len(got.Tools), got.LeftOut)
	answer, err = s.Answer(t.Context(), sessions.ToolRequest{Op: sessions.ToolList, Server: "honest"})
	must(t, err)
	expect(t, strings.Contains(string(answer.Body), `"function":"delete_all"`) && strings.Contains(string(answer.Body), `"permission":"asks"`), "the list is %s", answer.Body)
	answer, err = s.Answer(t.Context(), sessions.ToolRequest{Op: sessions.ToolCatalog})
	must(t, err)
	expect(t, strings.Contains(string(answer.Body), `"module":"honest"`), "the catalog is %s", answer.Body)
}
