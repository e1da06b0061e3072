package transport

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestACancellationThatOvertakes: its request is not begun when it comes.
func TestACancellationThatOvertakes(t *testing.T) {
	h := open(t, HTTPOptions{})
	cancelling := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
	}
	mine, yours := h.session(t), h.session(t)
	stream, messages := h.stream(t.Context(), t)
	initialized(t, h, stream, messages)

	h.send(t, post(cancelling(70)).with(mcpSession, mine))
	if _, body := h.send(t, post(calling(70, "remember", `{"word":"a"}`)).with(mcpSession, yours)); textOf(t, body) != "a" {
		t.Errorf("another client's: %s", body)
	}
	if _, body := h.send(t, post(calling(70, "remember", `{"word":"b"}`)).with(mcpSession, mine)); !strings.Contains(body, "cancelled before it came") {
		t.Errorf("HTTP: %s", body)
	}
	if _, body := h.send(t, post(calling(70, "remember", `{"word":"c"}`)).with(mcpSession, mine)); textOf(t, body) != "c" {
		t.Errorf("a cancellation counts once, and nothing ran before: %s", body)
	}

	h.send(t, messages.saying(cancelling(80)))
	if response, body := h.send(t, messages.saying(calling(80, "remember", `{"word":"b"}`))); response.StatusCode != http.StatusAccepted {
		t.Errorf("SSE: %s %s", response.Status, body)
	}
	h.send(t, messages.saying(calling(81, "remember", `{"word":"c"}`)))
	if text := textOf(t, stream.next()); text != "c" {
		t.Errorf("SSE: %s", text)
	}
}

func TestArrivals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a arrivals
		begins := func(id string) bool {
			end, ok := a.begin(id)
			if ok {
				end()
			}
			return ok
		}
		end, ok := a.begin("1")
		a.cancelled("1") // which is being handled
		if end(); !ok || !begins("1") {
			t.Error("an id may be used again once its request was cancelled and has ended")
		}
		a.cancelled("2")
		if time.Sleep(earlyFor); !begins("2") {
			t.Error("a cancellation is remembered for too long")
		}
		for i := range 2 * maxEarly {
			a.cancelled(fmt.Sprint(i))
		}
		if len(a.early) != maxEarly || len(a.open) != 0 {
			t.Errorf("%d are remembered, %d open", len(a.early), len(a.open))
		}
		time.Sleep(earlyFor)
		if a.cancelled("3"); len(a.early) != 1 || begins("3") {
			t.Errorf("old ones make no room for new ones: %d", len(a.early))
		}
	})
}
