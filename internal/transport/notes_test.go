package transport

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// told is what a client sees of a call: the progress with its token, then the
// text of the answer.
type told struct {
	Params struct{ ProgressToken string }
	Result *struct{ Content []struct{ Text string } }
}

// TestNotificationsArriveBeforeTheAnswer: all of them, and with the call that
// they belong to, however many calls there are at once.
func TestNotificationsArriveBeforeTheAnswer(t *testing.T) {
	const calls, notes = 60, 7
	h := open(t, HTTPOptions{})
	id := h.session(t)
	call := func(i int) string {
		return calling(i, "count", fmt.Sprintf(`{"to":%d,"name":"call %d"}`, notes, i))
	}
	check := func(t *testing.T, i int, next func() string) {
		name := fmt.Sprintf("call %d", i)
		for seen := 0; ; seen++ {
			var m told
			if err := json.Unmarshal([]byte(next()), &m); err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			switch {
			case m.Result != nil:
				expect(t, seen == notes && m.Result.Content[0].Text == name, "%s: %d notifications, then %+v", name, seen, m.Result)
				return
			case m.Params.ProgressToken != name:
				t.Errorf("%s is told of %s", name, m.Params.ProgressToken)
			}
		}
	}
	for era, q := range map[string]func(i int) request{
		"older era":  func(i int) request { return post(call(i)).with(mcpSession, id) },
		"newest era": func(i int) request { return inModern(t, post(call(i))) },
	} {
		t.Run(era, func(t *testing.T) {
			var all sync.WaitGroup
			for i := range calls {
				all.Go(func() {
					answer, response := h.follow(t.Context(), t, q(i))
					kind := response.Header.Get("Content-Type")
					expect(t, kind == "text/event-stream" && response.Header.Get("X-Accel-Buffering") == "no", "%v", response.Header)
					check(t, i, answer.next)
				})
			}
			all.Wait()
		})
	}
	t.Run("SSE", func(t *testing.T) {
		stream, messages := h.stream(t.Context(), t)
		initialized(t, h, stream, messages)
		for i := range calls { // one stream carries all of them: one after the other
			h.answers(t, "a call", messages.saying(call(i)), http.StatusAccepted)
			check(t, i, stream.next)
		}
	})
	t.Run("lines", func(t *testing.T) {
		c := stdio(t)
		c.agree(legacy)
		for i := range calls {
			c.say(call(i))
			check(t, i, c.next)
		}
	})
}

func initialized(t *testing.T, h *house, stream *events, messages request) {
	t.Helper()
	h.send(t, messages.saying(initialize))
	stream.next()
	h.send(t, messages.saying(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

// TestElicitation: the client's user is asked on every transport of the older era.
func TestElicitation(t *testing.T) {
	h := open(t, HTTPOptions{})
	const want = "acceptmap[name:Ann]"

	stream, messages := h.stream(t.Context(), t)
	initialized(t, h, stream, messages)
	h.send(t, messages.saying(calling(1, "ask", "")))
	h.answers(t, "the answer", messages.saying(answering(t, stream.next())), http.StatusAccepted)
	text := textOf(t, stream.next())
	expect(t, text == want, "SSE: %s", text)

	// A question that nobody waits for is withdrawn.
	h.send(t, messages.saying(calling(2, "ask", "")))
	question := idOf(t, stream.next())
	h.send(t, messages.saying(cancelling("2")))
	note := stream.next()
	expect(t, strings.Contains(note, `"notifications/cancelled"`) && strings.Contains(note, `"requestId":`+question), "SSE, withdrawn: %s", note)

	id := h.session(t)
	answer, _ := h.follow(t.Context(), t, post(calling(1, "ask", "")).with(mcpSession, id))
	h.send(t, post(answering(t, answer.next())).with(mcpSession, id))
	if text := textOf(t, answer.next()); text != want {
		t.Errorf("HTTP: %s", text)
	}
}

// answering is the client's answer to what the tool ask asks.
func answering(t *testing.T, question string) string {
	t.Helper()
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ann"}}}`, idOf(t, question))
}

// idOf is the id of what the tool ask asks.
func idOf(t *testing.T, question string) string {
	t.Helper()
	var m struct{ ID json.RawMessage }
	err := json.Unmarshal([]byte(question), &m)
	insist(t, err == nil && strings.Contains(question, "Your name?"), "%v in %q", err, question)
	return string(m.ID)
}

// TestListeningIsAcknowledgedFirst: also when there is nothing to listen to, so
// that the answer follows at once.
func TestListeningIsAcknowledgedFirst(t *testing.T) {
	const listeners, times = 8, 25
	h := open(t, HTTPOptions{})
	nothing := inModern(t, post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true}}}`))
	var all sync.WaitGroup
	for range listeners {
		all.Go(func() {
			for range times {
				_, body := h.send(t, nothing)
				acknowledged, answered := strings.Index(body, "subscriptions/acknowledged"), strings.Index(body, `"result"`)
				expect(t, acknowledged >= 0 && answered >= acknowledged, "%q", body)
			}
		})
	}
	all.Wait()
}
