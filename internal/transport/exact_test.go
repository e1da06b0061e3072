package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var oddIDs = []string{"0", "-1", "9007199254740993", "-10000008901", "1.50", "1e2", `""`, `"\ud800x"`, `"a\"b"`}

// TestIDsComeBack as they were sent: in answers, in streams and in errors.
func TestIDsComeBack(t *testing.T) {
	h := open(t, HTTPOptions{})
	session := h.session(t)
	for _, id := range oddIDs {
		call := strings.Replace(calling(77, "count", `{"to":2,"name":"x"}`), `"id":77`, `"id":`+id, 1)
		modernCall := inModern(t, post(strings.Replace(call, `"id":`+id, `"id":77`, 1)))
		modernCall.body = strings.Replace(modernCall.body, `"id":77`, `"id":`+id, 1)
		failing := strings.Replace(calling(77, "no such tool", ""), `"id":77`, `"id":`+id, 1)
		for name, q := range map[string]request{
			"older era": post(call).with(mcpSession, session), "newest era": modernCall, "no session": post(call),
			"an error": post(failing).with(mcpSession, session),
		} {
			_, body := h.send(t, q)
			expect(t, strings.Contains(body, `"id":`+id+`,`) || strings.Contains(body, `"id":`+id+`}`), "%s, %s: %s", id, name, body)
		}
		listen := listening(t, 77)
		listen.body = strings.Replace(listen.body, `"id":77`, `"id":`+id, 1)
		ctx, cancel := context.WithCancel(t.Context())
		listening, _ := h.follow(ctx, t, listen)
		event := listening.next()
		expect(t, strings.Contains(event, `subscriptionId":`+id), "%s, listening: %s", id, event)
		cancel()
		c := stdio(t)
		c.say(failing)
		text := c.next()
		expect(t, strings.Contains(text, `"id":`+id+`,`) || strings.Contains(text, `"id":`+id+`}`), "%s, an error on stdio: %s", id, text)
		c.say(listen.body)
		if text := c.next(); !strings.Contains(text, `subscriptionId":`+id) {
			t.Errorf("%s, listening on stdio: %s", id, text)
		}
	}
	for _, id := range []string{"{}", "[1]", "true", "null"} {
		_, body := h.answers(t, id, post(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).with(mcpSession, session), http.StatusBadRequest)
		expect(t, codeIn(t, body) == mcp.INVALID_REQUEST, "%s: %s", id, body)
	}
}

// TestBatchesOverHTTP: as on lines.
func TestBatchesOverHTTP(t *testing.T) {
	h := open(t, HTTPOptions{})
	batch := "[" + strings.Join([]string{
		calling(1, "count", `{"to":2,"name":"x"}`), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"id":{}}`,
		calling(3, "wait", ""), cancelling("3"), calling(4, "large", `{"bytes":200000}`), strings.Replace(calling(77, "remember", `{"word":"a"}`), "77", "9007199254740993", 1),
	}, ",") + "]"
	session := h.session(t)
	response, body := h.send(t, post(batch).with(mcpSession, session))
	var answers []struct{ ID json.RawMessage }
	err := json.Unmarshal([]byte(body), &answers)
	insist(t, err == nil && response.StatusCode == http.StatusOK, "%s: %s", response.Status, body)
	var ids []string
	for _, a := range answers {
		ids = append(ids, string(a.ID))
	}
	expect(t, slices.Equal(ids, []string{"1", "null", "3", "4", "9007199254740993"}), "%s", body)
	h.answers(t, "a notification", post(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`).with(mcpSession, session), http.StatusAccepted)
	h.answers(t, "a made-up session", post(batch).with(mcpSession, "ABC"), http.StatusNotFound)
	for _, version := range []string{"2024-11-05", "2025-06-18", legacy, modern} {
		_, body := h.answers(t, version, post(batch).with(mcpSession, session, mcp.HeaderProtocolVersion, version), http.StatusBadRequest)
		expect(t, codeIn(t, body) == mcp.INVALID_REQUEST && strings.Contains(body, version), "%s: %s", version, body)
	}
	many := post("["+strings.Repeat(pinging+",", mostInflight)+pinging+"]").with(mcpSession, session)
	if _, body := h.answers(t, "many", many, http.StatusBadRequest); !strings.Contains(body, "at most") {
		t.Error(body)
	}
}

// TestTheNewestEraHasNoBatches: its messages in an array are refused, over HTTP with a
// session and without one, and on stdio.
func TestTheNewestEraHasNoBatches(t *testing.T) {
	h := open(t, HTTPOptions{})
	batch := "[" + listening(t, 1).body + "," + pinging + "]"
	for _, q := range []request{post(batch), post(batch).with(mcpSession, h.session(t))} {
		response, body := h.send(t, q)
		insist(t, response.StatusCode == http.StatusOK, "%s %s", response.Status, body)
		checkNoArrays(t, body, mcp.HEADER_MISMATCH)
	}
	c := stdio(t)
	c.agree(mcp.ProtocolVersion20250326)
	c.say(strings.ReplaceAll(batch, "\n", ""))
	checkNoArrays(t, c.next(), mcp.INVALID_REQUEST)
}

// checkNoArrays checks that the first of two messages is refused, and the second is not.
func checkNoArrays(t *testing.T, body string, code int) {
	t.Helper()
	var answers []struct {
		ID    any
		Error *struct {
			Code    int
			Message string
		}
	}
	err := json.Unmarshal([]byte(body), &answers)
	insist(t, err == nil && len(answers) == 2, "%s, %v", body, err)
	if no := answers[0].Error; answers[0].ID != 1. || no == nil || no.Code != code || !strings.Contains(no.Message, "no arrays of messages") || answers[1].Error != nil {
		t.Errorf("%s", body)
	}
}

// TestALargeNameThatIsThereTwice is not sent back.
func TestALargeNameThatIsThereTwice(t *testing.T) {
	name := strings.Repeat("x", 10_000)
	_, err := parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","` + name + `":1,"` + name + `":2}`))
	expect(t, err != nil && strings.Contains(err.Error(), "twice") && len(err.Error()) <= 200, "%v", err)
}

// TestACancelOverHTTP finds its call each time, whichever of the two is read first,
// and ends it.
func TestACancelOverHTTP(t *testing.T) {
	h := open(t, HTTPOptions{})
	session := h.session(t)
	const calls, atOnce = 1000, 20
	next := make(chan int)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for id := range next {
				var both sync.WaitGroup
				both.Go(func() { h.send(t, post(calling(id, "wait", "")).with(mcpSession, session)) })
				both.Go(func() { h.send(t, post(cancelling(fmt.Sprint(id))).with(mcpSession, session)) })
				both.Wait() // for ever, if the cancellation is lost
			}
		})
	}
	for id := range calls {
		next <- id
	}
	close(next)
	all.Wait()
	for range h.tools.ran.Load() {
		err := soon(t, h.tools.ended)
		expect(t, err == context.Canceled, "%v", err)
	}
}

// TestInvalidParams is what a handler's error says, on each transport.
func TestInvalidParams(t *testing.T) {
	tl := newTools()
	s := tl.server()
	TellCodes(s)
	for name, why := range map[string]error{
		"strict": fmt.Errorf("the name is missing: %w", mcp.ErrInvalidParams), "missing": fmt.Errorf("it is gone: %w", server.ErrResourceNotFound),
		"broken": errors.New("a fault of ours"),
	} {
		s.AddPrompt(mcp.NewPrompt(name), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, why })
	}
	h := serving(t, listen(t, "tcp", "127.0.0.1:0"), tl, s, HTTPOptions{})
	session := h.session(t)
	c := converseWith(t, tl, s, serveStdio)
	missing := post(`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"missing"}}`)
	for want, q := range map[int]request{mcp.RESOURCE_NOT_FOUND: missing.with(mcpSession, session), mcp.INVALID_PARAMS: inModern(t, missing)} {
		_, body := h.send(t, q)
		expect(t, codeIn(t, body) == want && !strings.Contains(body, "handler"), "missing, not %d: %s", want, body)
	}
	for name, want := range map[string]int{"strict": mcp.INVALID_PARAMS, "broken": mcp.INTERNAL_ERROR, "unknown": mcp.INVALID_PARAMS} {
		get := post(`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"` + name + `"}}`)
		for era, q := range map[string]request{"older": get.with(mcpSession, session), "newest": inModern(t, get), "no session": get} {
			_, body := h.send(t, q)
			expect(t, codeIn(t, body) == want, "%s, %s: %s", name, era, body)
		}
		c.say(get.body)
		text := c.next()
		expect(t, codeIn(t, text) == want, "%s on stdio: %s", name, text)
	}
}

// TestACancellationThatOvertakes: its request is not begun when it comes.
func TestACancellationThatOvertakes(t *testing.T) {
	h := open(t, HTTPOptions{})
	mine, yours := h.session(t), h.session(t)
	stream, messages := h.stream(t.Context(), t)
	initialized(t, h, stream, messages)

	h.send(t, post(cancelling("70")).with(mcpSession, mine))
	_, body := h.send(t, post(calling(70, "remember", `{"word":"a"}`)).with(mcpSession, yours))
	expect(t, textOf(t, body) == "a", "another client's: %s", body)
	if _, body := h.send(t, post(calling(70, "remember", `{"word":"b"}`)).with(mcpSession, mine)); !strings.Contains(body, "cancelled before it came") {
		t.Errorf("HTTP: %s", body)
	}
	if _, body := h.send(t, post(calling(70, "remember", `{"word":"c"}`)).with(mcpSession, mine)); textOf(t, body) != "c" {
		t.Errorf("a cancellation counts once, and nothing ran before: %s", body)
	}

	h.send(t, messages.saying(cancelling("80")))
	if response, body := h.send(t, messages.saying(calling(80, "remember", `{"word":"b"}`))); !strings.Contains(body, "cancelled before it came") {
		t.Errorf("SSE: %s %s", response.Status, body)
	}
	h.send(t, messages.saying(calling(81, "remember", `{"word":"c"}`)))
	text := textOf(t, stream.next())
	expect(t, text == "c", "SSE: %s", text)
}

func TestInflight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f inflight
		ended := 0
		begin := func(id string) (end func() bool) {
			end, _ = f.begin(id, func() { ended++ })
			return end
		}
		begins := func(id string) bool {
			end := begin(id)
			if end != nil {
				end()
			}
			return end != nil
		}
		call := begin("1")
		f.cancelEarly("1")
		expect(t, call() && ended == 1 && begins("1"), "cancelled %d times; an id may be used again once its request has ended", ended)
		first, second := begin("1"), begin("1")
		expect(t, !first() && f.cancel("1") && second() && ended == 2, "the end of the one hides the other of the same id")
		expect(t, !f.cancel("1"), "what has ended is cancelled")
		f.cancelEarly("2")
		if time.Sleep(earlyFor); !begins("2") {
			t.Error("a cancellation is remembered for too long")
		}
		for i := range 2 * maxEarly {
			f.cancelEarly(fmt.Sprint(i))
		}
		if len(f.early) != maxEarly || f.count() != 0 {
			t.Errorf("%d are remembered, %d open", len(f.early), f.count())
		}
		time.Sleep(earlyFor)
		if f.cancelEarly("3"); len(f.early) != 1 || begins("3") {
			t.Errorf("old ones make no room for new ones: %d", len(f.early))
		}
	})
}

// TestMethodsOfExtensions are answered in both eras, on every transport, with the id as it
// was written; what they don't know is the client's mistake, and others' methods are none.
func TestMethodsOfExtensions(t *testing.T) {
	tl := newTools()
	s := tl.server()
	AddMethods(s, map[string]func(json.RawMessage) (any, error){
		"things/get": func(params json.RawMessage) (any, error) {
			if !strings.Contains(string(params), "here") {
				return nil, fmt.Errorf("%w: no such thing", mcp.ErrInvalidParams)
			}
			return map[string]string{"thing": "here"}, nil
		},
	})
	over := serving(t, listen(t, "tcp", "127.0.0.1:0"), tl, s, HTTPOptions{})
	lines := converseWith(t, tl, s, serveStdio)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1000000,"method":"things/get","params":{"name":"here"}}`: `"id":1000000,"result":{"thing":"here"}`,
		`{"jsonrpc":"2.0","id":"b","method":"things/get","params":{"name":"gone"}}`:     `"id":"b","error":{"code":-32602,"message":"invalid params: no such thing"`,
		`{"jsonrpc":"2.0","id":"c","method":"things/put","params":{}}`:                  `"id":"c","error":{"code":-32601`,
	} {
		q := inModern(t, post(body))
		for _, line := range []string{body, q.body} {
			lines.say(line)
			answer := lines.next()
			expect(t, strings.Contains(answer, want), "%s on a line: %s", line, answer)
		}
		_, answer := over.send(t, post(body).with(mcp.HeaderSessionID, over.session(t)))
		expect(t, strings.Contains(answer, want), "%s with a session: %s", body, answer)
		_, answer = over.send(t, q)
		expect(t, strings.Contains(answer, want), "%s without: %s", body, answer)
	}
}
