package transport

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestAuthentication(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}})
	_, messages := h.stream(t.Context(), t, "Authorization", "Bearer ann")
	id := h.session(t, "Authorization", "Bearer ann")
	for name, q := range map[string]request{
		"modern":         inModern(t, post(calling(1, "remember", ""))),
		"initialize":     post(initialize),
		"older era":      post(calling(1, "remember", "")).with(mcpSession, id),
		"the stream":     {method: "GET", path: StreamablePath, header: map[string]string{mcpSession: id}},
		"the end":        {method: "DELETE", path: StreamablePath, header: map[string]string{mcpSession: id}},
		"SSE":            {method: "GET", path: SSEPath},
		"SSE's messages": messages.saying(calling(1, "remember", "")),
	} {
		for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer broken": 500} {
			response, body := h.answers(t, name+" with "+token, q.with("Authorization", token), want)
			expect(t, want != 401 || response.Header.Get("WWW-Authenticate") != "", "%s with %q: no challenge", name, token)
			expect(t, !strings.Contains(body, "names is gone"), "%s tells of our faults: %s", name, body)
		}
	}
	n := h.tools.ran.Load()
	expect(t, n == 0, "%d tools ran", n)
}

// TestASessionIsItsPrincipals: its id alone is worth nothing.
func TestASessionIsItsPrincipals(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}})
	id := h.session(t, "Authorization", "Bearer ann")
	_, messages := h.stream(t.Context(), t, "Authorization", "Bearer ann")
	call := calling(1, "remember", `{"word":"x"}`)
	for name, q := range map[string]request{
		"a call":            post(call).with(mcpSession, id),
		"its notifications": {method: "GET", path: StreamablePath, header: map[string]string{mcpSession: id}},
		"its end":           {method: "DELETE", path: StreamablePath, header: map[string]string{mcpSession: id}},
		"a call over SSE":   messages.saying(call),
	} {
		h.answers(t, "bob reaches ann's session: "+name, q.with("Authorization", "Bearer bob"), http.StatusNotFound)
	}
	n := h.tools.ran.Load()
	expect(t, n == 0, "%d tools ran", n)
	_, body := h.send(t, post(call).with(mcpSession, id, "Authorization", "Bearer ann"))
	expect(t, textOf(t, body) == "x", "ann's own session: %s", body)
	// A principal is one client, whichever era and session it calls from.
	again := h.session(t, "Authorization", "Bearer ann")
	h.send(t, post(call).with(mcpSession, again, "Authorization", "Bearer ann"))
	if _, body := h.send(t, inModern(t, post(call)).with("Authorization", "Bearer ann")); textOf(t, body) != "xxx" {
		t.Errorf("ann is several clients: %s", body)
	}
}

// TestASessionIsNotChosen: an id that a client brings along is not taken.
func TestASessionIsNotChosen(t *testing.T) {
	h := open(t, HTTPOptions{})
	id := h.session(t, mcpSession, "CHOSENCHOSENCHOSENCHOSEN12")
	expect(t, !strings.HasPrefix(id, "CHOSEN"), "%v", id)
	first := h.session(t)
	second := h.session(t, mcpSession, first)
	expect(t, second != first, "two clients share a session")
}

// TestCancelling: a call ends when its own client says so, and nobody else's does.
func TestCancelling(t *testing.T) {
	h := open(t, HTTPOptions{})
	cancel := cancelling("7")
	mine, yours := h.session(t), h.session(t)
	stream, messages := h.stream(t.Context(), t)
	_, strange := h.stream(t.Context(), t)
	call := calling(7, "wait", "")
	begin := func(q request) <-chan string {
		answered := h.later(t, q)
		soon(t, h.tools.began)
		return answered
	}
	old := begin(post(call).with(mcpSession, mine))
	begin(messages.saying(call))
	now := begin(inModern(t, post(call)))

	for name, q := range map[string]request{
		"another session":              post(cancel).with(mcpSession, yours),
		"another stream":               strange.saying(cancel),
		"somebody of the newest era":   inModern(t, post(cancel)),
		"somebody who pretends to be":  inModern(t, post(cancel)).with(mcpSession, mine),
		"the newest era by its header": post(cancel).with(mcpSession, mine, "Mcp-Protocol-Version", modern),
	} {
		h.answers(t, name, q, http.StatusAccepted)
	}
	for name, body := range disguised(inModern(t, post(cancel)).body) {
		for _, q := range []request{inModern(t, post(cancel)).saying(body), strange.saying(body)} {
			response, answer := h.send(t, q)
			expect(t, response.StatusCode/100 != 5 && response.StatusCode != http.StatusOK, "%s: %s %s", name, response.Status, answer)
		}
	}
	for range 3 { // each ends as if nothing had been said
		h.tools.finish <- struct{}{}
	}
	for name, text := range map[string]string{"older era": soon(t, old), "SSE": stream.next(), "newest era": soon(t, now)} {
		expect(t, textOf(t, text) == "finished", "%s: %s", name, text)
	}
	if len(h.tools.ended) > 0 {
		t.Fatalf("a stranger cancelled a call: %v", <-h.tools.ended)
	}

	old = begin(post(call).with(mcpSession, mine))
	begin(messages.saying(call))
	for name, q := range map[string]request{"older era": post(cancel).with(mcpSession, mine), "SSE": messages.saying(cancel)} {
		h.send(t, q)
		err := soon(t, h.tools.ended)
		expect(t, err == context.Canceled, "%s: %v", name, err)
	}
	soon(t, old)
	h.send(t, messages.saying(calling(8, "remember", `{"word":"x"}`)))
	if text := textOf(t, stream.next()); text != "x" {
		t.Errorf("SSE: a cancelled call was answered: %s", text)
	}
}

// disguised are messages that a decoder may read as this one, and a check may not.
func disguised(body string) map[string]string {
	rest := strings.TrimPrefix(body, "{")
	other := func(old, now string) string { return strings.Replace(body, old, now, 1) }
	return map[string]string{
		"an error of another type":     `{"error":"x",` + rest,
		"a code of another type":       `{"error":{"code":"a"},` + rest,
		"a result":                     `{"result":null,` + rest,
		"another case":                 other(`"method"`, `"Method"`),
		"capitals":                     other(`"method"`, `"METHOD"`),
		"escaped":                      other(`"method"`, `"\u006dethod"`),
		"another case and another id":  other(`"method"`, `"id":null,"ID":null,"mEthod"`),
		"two methods":                  `{"method":"notifications/initialized",` + rest,
		"two methods, one in capitals": `{"METHOD":"notifications/initialized",` + rest,
		"an id in capitals":            `{"id":1,"Id":null,` + rest,
		"an id that is an object":      `{"id":{},` + rest,
		"two params":                   `{"params":{},` + rest,
		"params in capitals":           other(`"params"`, `"PARAMS"`),
		"metadata in capitals":         other(`"_meta"`, `"_META"`),
		"a batch":                      "[" + body + "]",
		"a mark before it":             "\ufeff" + body,
		"more behind it":               body + body,
		"nested":                       `{"params":` + body + `}`,
	}
}

// TestMessagesThatReadInTwoWays are refused; what is unusual and clear is not.
func TestMessagesThatReadInTwoWays(t *testing.T) {
	for text, want := range map[string]message{
		`{ "id" : -1 , "method" : "a\"}{" , "x" : [ { "id" : [ 2 ] } , "]" ] }`: {ID: []byte("-1"), Method: `a"}{`},
		`{"method":"notifications/cancelled","params":{"a":{"requestId":1},"requestId":"7"}}`: {
			Method: methodCancelled, cancelled: `"7"`},
		`{"id":"x","error":"odd","result":{}}`:   {ID: []byte(`"x"`), Result: []byte("{}"), Error: []byte(`"odd"`)},
		`{"id":1,"\u006dethod":"m","params":[]}`: {ID: []byte("1"), Method: "m"},
	} {
		m, err := parse([]byte(text))
		if m.params = nil; err != nil || fmt.Sprintf("%q", m) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %q, %v", text, m, err)
		}
	}
	for _, text := range []string{
		"", "null", "7", "[]", "{}", `{"method":7}`, `{"id":true,"method":"m"}`, `{"id":null,"method":"m"}`, `{"id":1,"id":1,"method":"m"}`,
		`{"method":"m","Method":"m"}`, `{"re\u017fult":1,"id":1}`, `{"method":"m","params":{"_meta":{},"_Meta":{}}}`,
		`{"method":"m","params":{"requestId":1,"requestId":2}}`, `{"method":null,"id":null}`, `{"method":"m"}x`,
	} {
		m, err := parse([]byte(text))
		expect(t, err != nil, "%s: %q", text, m)
	}
}

// TestLeaving: what the server is told of a client that is gone, and what the
// calls of such a client are told.
func TestLeaving(t *testing.T) {
	left := make(chan string, 10)
	h := open(t, HTTPOptions{Left: func(client string, gone bool) { left <- fmt.Sprint(client, " ", gone) }})
	begin := func(q request) (drop context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if response, err := h.try(ctx, q); err == nil {
				_ = response.Body.Close()
			}
		}()
		soon(t, h.tools.began)
		return cancel
	}
	t.Run("a call's connection breaks, older era", func(t *testing.T) {
		begin(post(calling(1, "wait", "")).with(mcpSession, h.session(t)))()
		err := soon(t, h.tools.ended)
		expect(t, err == errDropped, "%v", err)
	})
	t.Run("a call's connection is closed, newest era", func(t *testing.T) {
		begin(inModern(t, post(calling(1, "wait", ""))))()
		err := soon(t, h.tools.ended)
		expect(t, err == context.Canceled, "%v", err)
	})
	t.Run("a stream breaks", func(t *testing.T) {
		ctx, drop := context.WithCancel(t.Context())
		_, messages := h.stream(ctx, t)
		h.send(t, messages.saying(calling(1, "wait", "")))
		caller := soon(t, h.tools.began)
		expect(t, caller.Request != "", "the log can't name the request")
		drop()
		err := soon(t, h.tools.ended)
		expect(t, err == errDropped, "%v", err)
		got, want := soon(t, left), caller.Client+" false"
		expect(t, got == want, "%s, not %s", got, want)
		h.forgets(t, messages)
	})
	t.Run("a client says goodbye", func(t *testing.T) {
		id := h.session(t)
		bye := request{method: "DELETE", path: StreamablePath, header: map[string]string{mcpSession: id}}
		h.answers(t, "goodbye", bye, http.StatusOK)
		got, want := soon(t, left), "session:"+id+" true"
		expect(t, got == want, "%s, not %s", got, want)
		for _, q := range []request{bye, post(calling(1, "remember", "")).with(mcpSession, id), by(bye, "GET")} {
			h.answers(t, "afterwards: "+q.method, q, http.StatusNotFound)
		}
	})
	if len(left) > 0 {
		t.Errorf("and more: %s", <-left)
	}
}

// TestPrincipalsDoNotLeave: their sessions are theirs wherever they call from.
func TestPrincipalsDoNotLeave(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}, Left: func(client string, _ bool) { t.Errorf("%s left", client) }})
	id := h.session(t, "Authorization", "Bearer ann")
	h.send(t, request{method: "DELETE", path: StreamablePath}.with(mcpSession, id, "Authorization", "Bearer ann"))
	ctx, drop := context.WithCancel(t.Context())
	_, messages := h.stream(ctx, t, "Authorization", "Bearer ann")
	drop()
	h.forgets(t, messages)
}

// forgets returns when there is no such stream any more.
func (h *house) forgets(t *testing.T, messages request) {
	t.Helper()
	eventually(t, "the end of the stream", func() bool {
		response, _ := h.send(t, messages.saying(calling(1, "remember", "")))
		return response.StatusCode == http.StatusNotFound
	})
}
