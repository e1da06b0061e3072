package transport

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestAttacks: none of these requests may run a tool.
func TestAttacks(t *testing.T) {
	h := open(t, HTTPOptions{AllowOrigins: []string{"https://allowed.example"}, MaxRequest: 10_000})
	call := inModern(t, post(calling(1, "remember", "")))
	id := h.session(t)
	old := post(calling(1, "remember", "")).with(mcpSession, id)
	_, messages := h.stream(t.Context(), t)
	sse := messages.saying(calling(1, "remember", ""))
	get := request{method: "GET", path: SSEPath}

	for name, test := range map[string]struct {
		request request
		status  int
	}{
		"a form of a foreign page":           {call.with("Origin", "https://evil.example", "Content-Type", "text/plain"), 403},
		"a fetch of a foreign page":          {call.with("Origin", "https://evil.example"), 403},
		"the same, older era":                {old.with("Origin", "https://evil.example"), 403},
		"the same, SSE":                      {sse.with("Origin", "https://evil.example"), 403},
		"the same, SSE as text":              {sse.with("Origin", "https://evil.example", "Content-Type", "text/plain"), 403},
		"a page without an origin":           {call.with("Origin", "null"), 403},
		"a page of another port":             {call.with("Origin", "http://localhost:3000"), 403},
		"a page of another scheme":           {call.with("Origin", "https://"+h.addr), 403},
		"an origin that begins as ours":      {call.with("Origin", "http://"+h.addr+".evil.example"), 403},
		"an origin that begins as a friend":  {call.with("Origin", "https://allowed.example.evil.example"), 403},
		"an origin that ends as a friend":    {call.with("Origin", "https://evil-allowed.example"), 403},
		"a foreign page without its origin":  {call.with("Sec-Fetch-Site", "cross-site"), 403},
		"a page of this site":                {call.with("Sec-Fetch-Site", "same-site"), 403},
		"text":                               {call.with("Content-Type", "text/plain"), 415},
		"a form":                             {call.with("Content-Type", "application/x-www-form-urlencoded"), 415},
		"no type":                            {call.with("Content-Type", ""), 415},
		"text, older era":                    {old.with("Content-Type", "text/plain"), 415},
		"text, SSE":                          {sse.with("Content-Type", "text/plain"), 415},
		"packed":                             {call.with("Content-Encoding", "gzip"), 415},
		"a rebound name":                     {as(call, "evil.example"), 403},
		"a rebound name with our port":       {as(call, "evil.example:"+port(h.addr)), 403},
		"a rebound name, older era":          {as(old, "evil.example"), 403},
		"a rebound name, SSE":                {as(sse, "evil.example"), 403},
		"a rebound name, the stream of SSE":  {as(get, "evil.example"), 403},
		"a name that begins as localhost":    {as(call, "localhost.evil.example"), 403},
		"somebody else's address":            {as(call, "192.0.2.1:8808"), 403},
		"the stream of SSE for a page":       {get.with("Origin", "https://evil.example"), 403},
		"the stream of SSE for an image":     {get.with("Sec-Fetch-Site", "cross-site"), 403},
		"a preflight of a foreign page":      {preflight("https://evil.example"), 403},
		"a preflight of a foreign page, SSE": {at(preflight("https://evil.example"), MessagePath), 403},
		"a preflight of nobody":              {request{method: "OPTIONS", path: StreamablePath}, 405},
		"two slashes":                        {at(call, "//mcp"), 404},
		"a dot":                              {at(call, "/./mcp"), 404},
		"a detour":                           {at(call, "/healthz/../mcp"), 404},
		"a slash at the end":                 {at(call, "/mcp/"), 404},
		"another case":                       {at(call, "/MCP"), 404},
		"something behind it":                {at(call, "/mcp/message"), 404},
		"the root":                           {at(call, "/"), 404},
		"PUT":                                {by(call, "PUT"), 405},
		"TRACE":                              {by(call, "TRACE"), 405},
		"HEAD":                               {by(request{path: StreamablePath}, "HEAD"), 405},
		"a method nobody knows":              {by(call, "FROBNICATE"), 405},
		"DELETE of a stream":                 {by(sse, "DELETE"), 405},
		"POST to the stream of SSE":          {at(call, SSEPath), 405},
		"GET of messages":                    {by(sse, "GET"), 405},
		"a large body":                       {call.saying(strings.Repeat(" ", 20_000) + call.body), 413},
		"a large body, SSE":                  {sse.saying(strings.Repeat(" ", 20_000) + sse.body), 413},
		"a large head":                       {call.with("X-Large", strings.Repeat("x", 200_000)), 431},
		"a made-up session":                  {old.with(mcpSession, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 404},
		"a session of SSE over HTTP":         {old.with(mcpSession, messages.path[strings.Index(messages.path, "=")+1:]), 404},
		"a session of HTTP over SSE":         {at(sse, MessagePath+"?sessionId="+id), 404},
		"a made-up session, SSE":             {at(sse, MessagePath+"?sessionId=ABC"), 404},
		"no session, SSE":                    {at(sse, MessagePath), 404},
		"a stream of a made-up session":      {by(old.with(mcpSession, "ABC"), "GET"), 404},
		"a stream of no session":             {by(old.with(mcpSession, ""), "GET"), 405},
		"the end of a made-up session":       {by(old.with(mcpSession, "ABC"), "DELETE"), 404},
		"no JSON":                            {call.saying("hello"), 400},
		"no JSON, SSE":                       {sse.saying("hello"), 400},
		"a batch, SSE":                       {sse.saying("[" + sse.body + "]"), 400},
	} {
		t.Run(name, func(t *testing.T) {
			response, _ := h.answers(t, name, test.request, test.status)
			allowed := response.Header.Get("Access-Control-Allow-Origin")
			expect(t, allowed == "", "a page may read this: %q", allowed)
		})
	}
	n := h.tools.ran.Load()
	expect(t, n == 0, "%d tools ran", n)
	for name, friend := range map[string]request{
		"plain": call, "an allowed origin": call.with("Origin", "https://allowed.example", "Sec-Fetch-Site", "cross-site"),
		"our own origin": call.with("Origin", "http://"+h.addr), "localhost": as(call, "LOCALHOST:1234"),
		"the root's dot": as(call, "localhost."), "IPv6": as(call, "[::1]:80"), "typed by the user": call.with("Sec-Fetch-Site", "none"),
		"with a charset": call.with("Content-Type", "application/json; charset=utf-8"),
		"older era":      old,
	} {
		response, _ := h.answers(t, name, friend, http.StatusOK)
		expect(t, response.Header.Get("Content-Type") == "application/json", "%s: %v", name, response.Header)
	}
}

func as(q request, host string) request   { q.host = host; return q }
func at(q request, path string) request   { q.path = path; return q }
func by(q request, method string) request { q.method = method; return q }

func port(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

func preflight(origin string) request {
	return request{method: "OPTIONS", path: StreamablePath, header: map[string]string{
		"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type",
	}}
}

func TestPagesOfAllowedOrigins(t *testing.T) {
	const friend = "https://allowed.example"
	h := open(t, HTTPOptions{AllowOrigins: []string{friend + "/"}, Authenticator: names{}})
	if response, _ := h.answers(t, "the preflight", preflight(friend), http.StatusNoContent); response.Header.Get("Access-Control-Allow-Headers") != "content-type" {
		t.Errorf("the preflight: %v", response.Header)
	}
	for name, q := range map[string]request{
		"let in":  inModern(t, post(calling(1, "remember", ""))).with("Authorization", "Bearer ann"),
		"refused": inModern(t, post(calling(1, "remember", ""))),
		"SSE":     {method: "DELETE", path: SSEPath, header: map[string]string{"Authorization": "Bearer ann"}},
	} {
		response, body := h.send(t, q.with("Origin", friend))
		got := response.Header.Get("Access-Control-Allow-Origin")
		expect(t, got == friend, "%s: it may not be read (%q): %s %s", name, got, response.Status, body)
	}
}

func TestHostsOfAPublicServer(t *testing.T) {
	h := open(t, HTTPOptions{AllowHosts: []string{"mcp.example.com"}})
	call := inModern(t, post(calling(1, "remember", "")))
	for host, want := range map[string]int{"mcp.example.com": 200, "MCP.example.com:443": 200, "other.example.com": 403} {
		h.answers(t, host, as(call, host), want)
	}
	all := open(t, HTTPOptions{AllowHosts: []string{"*"}})
	all.answers(t, "any host", as(call, "anything.example"), http.StatusOK)
	// Any name may be that of a page which was pointed at us.
	for _, page := range []request{call.with("Origin", "http://evil.example"), call.with("Sec-Fetch-Site", "same-origin")} {
		all.answers(t, "a rebound page", as(page, "evil.example"), http.StatusForbidden)
	}
}

func TestRoutesBesideMCP(t *testing.T) {
	var called bool
	h := open(t, HTTPOptions{Authenticator: names{}, Routes: map[string]Route{
		"/healthz": {Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { called = true; w.WriteHeader(http.StatusOK) })},
		"/metrics": {Handler: http.NotFoundHandler(), Authenticator: names{}},
	}})
	h.answers(t, "without a token", request{method: "GET", path: "/metrics"}, http.StatusUnauthorized)
	health := request{method: "GET", path: "/healthz"}
	h.answers(t, "a rebound name", as(health, "evil.example"), http.StatusForbidden)
	h.answers(t, "a foreign page", health.with("Origin", "https://evil.example"), http.StatusForbidden)
	expect(t, !called, "it was let through")
	if h.answers(t, "health", health, http.StatusOK); !called {
		t.Error("it was not asked")
	}
}

// TestAPanicEndsItsAnswer: one that has begun is broken off, or its client would
// take it for whole.
func TestAPanicEndsItsAnswer(t *testing.T) {
	h := open(t, HTTPOptions{Routes: map[string]Route{
		"/early": {Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("early") })},
		"/late":  {Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("half")); panic("late") })},
	}})
	h.answers(t, "early", request{method: "GET", path: "/early"}, http.StatusInternalServerError)
	response, err := h.try(t.Context(), request{method: "GET", path: "/late"})
	if err != nil {
		return // broken off before the first byte
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("it looks whole: %s", body)
	}
}
