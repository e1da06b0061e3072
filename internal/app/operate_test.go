package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"understudy/internal/auth"
	"understudy/internal/config"
	"understudy/internal/traces"
	"understudy/internal/transport"
	"understudy/sessions"
)

func watchedApp(log io.Writer) *App {
	a := &App{
		config: &config.Config{}, log: slog.New(slog.NewTextHandler(log, nil)),
		manager: sessions.NewManager(sessions.Options{}),
		ready:   newReadiness(nil, quiet()),
	}
	a.metrics = a.newMetrics()
	a.ready.prove()
	return a
}

func TestWatchersHaveAnAddressOfTheirOwn(t *testing.T) {
	a := watchedApp(io.Discard)
	defer a.manager.Close(t.Context())
	listener, err := listenForWatchers("127.0.0.1:0")
	must(t, err)
	a.config.Serve.AllowHost = []string{"understudy.monitoring"}
	n := &network{watchers: listener, door: &door{tenant: auth.NewTenant("one")}, settings: a.config.Serve.Network, who: a.config.Serve.Auth} // a door that nobody passes
	stop := n.watch(a.watched())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{metricsPath: "understudy_interpreters 0", healthPath: "ok", readyPath: "ok"} {
		response, err := client.Get("http://" + listener.Addr().String() + path)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		expect(t, err == nil && response.StatusCode == http.StatusOK && strings.Contains(string(body), want), "%s: %s %v\n%.200s", path, response.Status, err, body)
	}
	for name, change := range map[string]func(*http.Request){
		"of a page with a name of its own": func(r *http.Request) { r.Host = "evil.example.org" },
		"of a page":                        func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.org") },
		"":                                 func(r *http.Request) { r.Host = "understudy.monitoring:9808" },
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+metricsPath, http.NoBody)
		must(t, err)
		change(request)
		response, err := client.Do(request)
		must(t, err)
		_ = response.Body.Close()
		refused := response.StatusCode == http.StatusForbidden
		expect(t, refused == (name != ""), "a request %s: %s", name, response.Status)
	}
	_, err = listenForWatchers(listener.Addr().String())
	expect(t, err != nil && strings.Contains(err.Error(), "metrics-addr"), "an address was taken twice: %v", err)
	stop()
	if response, err := client.Get("http://" + listener.Addr().String() + healthPath); err == nil {
		_ = response.Body.Close()
		t.Error("it answers after it was stopped")
	}

	options := transport.HTTPOptions{Streamable: true}
	n.operate(a.watched(), &options)
	expect(t, options.Routes[metricsPath].Handler == nil && options.Routes[readyPath].Handler != nil,
		"with an address of their own, metrics are served beside MCP too")
}

// TestStreamsHaveNoTime: how long somebody listens would hide how long answers take.
func TestStreamsHaveNoTime(t *testing.T) {
	a := watchedApp(io.Discard)
	defer a.manager.Close(t.Context())
	for _, x := range []transport.Exchange{
		{Method: "GET", Route: "/mcp"}, {Method: "GET", Route: "/sse"}, {Method: "POST", Route: "/mcp", RPC: "subscriptions/listen"},
		{Method: "POST", Route: "/mcp", RPC: "tools/call"}, {Method: "POST", Route: "/sse", RPC: "subscriptions/listen"}, {Method: "GET", Route: "/healthz"},
	} {
		x.Status = http.StatusOK
		a.watched().observe(x)
	}
	answer := httptest.NewRecorder()
	a.metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, metricsPath, http.NoBody))
	for _, line := range []string{`route="/mcp"} 1`, `route="/sse"} 1`, `route="/healthz"} 1`} {
		expect(t, strings.Contains(answer.Body.String(), "understudy_http_request_duration_seconds_count{"+line+"\n"), "no %s among\n%s", line, answer.Body)
	}
}

func TestLinesOfRequests(t *testing.T) {
	var log bytes.Buffer
	a := watchedApp(&log)
	defer a.manager.Close(t.Context())
	lines := func(status int) string {
		log.Reset()
		a.watched().observe(transport.Exchange{Method: "POST", Route: "/mcp", RPC: "tools/call", Status: status, Caller: transport.Caller{Client: "session:SECRET", Request: "5"}})
		return log.String()
	}
	for status, level := range map[int]string{200: "", 404: "", 401: "INFO", 403: "INFO", 429: "INFO", 500: "WARN", 503: "WARN"} {
		line := lines(status)
		expect(t, (level != "" || line == "") && (level == "" || strings.Contains(line, "level="+level)) && !strings.Contains(line, "SECRET"), "%d: %s", status, line)
	}
}

// TestAGatewayTracesWhatItPassesOn: its span is in the client's, whichever way that was
// named, and what it passes on names its own.
func TestAGatewayTracesWhatItPassesOn(t *testing.T) {
	var sent atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer := traces.Open("test", slog.New(slog.DiscardHandler))
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	named := fmt.Sprintf("00-%s-%s-01", trace, parent)
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{` + meta + `}}}`
	}
	for name, test := range map[string]struct{ header, body string }{
		"in a header":      {named, call("")},
		"in the metadata":  {"", call(`"traceparent":"` + named + `"`)},
		"by a proxy, too":  {named, call(`"traceparent":"00-00000000000000000000000000000001-0000000000000001-01"`)},
		"not in a call":    {named, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		"not at all, call": {"", call("")},
	} {
		passed := make(chan string, 1)
		h := transport.NewHTTP(nil, transport.HTTPOptions{Streamable: true, Forward: tracedForwarder{tellsParent(passed), tracer}})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Serve(ctx, l) }()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/mcp", strings.NewReader(test.body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		if test.header != "" {
			r.Header.Set("Traceparent", test.header)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		must(t, response.Body.Close())
		got := strings.Split(<-passed, "-")
		stop()
		must(t, <-ended)
		switch name {
		case "not in a call":
			expect(t, strings.Join(got, "-") == named, "%s: %v", name, got)
		case "not at all, call":
			expect(t, len(got) == 4 && got[1] != trace, "%s: %v", name, got)
		default:
			expect(t, len(got) == 4 && got[1] == trace && got[2] != parent, "%s: %v", name, got)
		}
	}
	tracer.Close()
	expect(t, sent.Load() > 0, "no span was sent")
}

// tellsParent answers nothing, and tells which span it was passed on in.
type tellsParent chan<- string

func (to tellsParent) Forward(_ http.ResponseWriter, r *http.Request, _ transport.Forwarded) {
	to <- r.Header.Get("Traceparent")
}

type forwarder struct{}

func (forwarder) Forward(http.ResponseWriter, *http.Request, transport.Forwarded) {}

// TestAGatewaySpeaksToServersAlone: the token that opens pods opens no gateway to them,
// though it stood among its clients' tokens.
func TestAGatewaySpeaksToServersAlone(t *testing.T) {
	made, err := auth.Make("gateway", []string{auth.ScopeGateway}, time.Time{})
	must(t, err)
	file := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(file, []byte(made.Line+"\n"), 0o600))
	for name, to := range map[string]transport.Forwarder{"server": nil, "gateway": forwarder{}} {
		d, err := openDoor(config.Auth{AuthTokens: file}, slog.New(slog.DiscardHandler))
		must(t, err)
		options := transport.HTTPOptions{Forward: to}
		d.admit(&options)
		r := httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+made.Token)
		r.Header.Set(auth.HeaderClient, "alice")
		r.Header.Set(auth.HeaderClaim, "1")
		principal, err := options.Authenticator.Authenticate(r)
		expect(t, (principal == "alice") == (to == nil), "%s: %q, %v", name, principal, err)
	}
}
