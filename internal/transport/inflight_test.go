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
		if !call() || ended != 1 || !begins("1") {
			t.Errorf("cancelled %d times; an id may be used again once its request has ended", ended)
		}
		first, second := begin("1"), begin("1")
		if first() || !f.cancel("1") || !second() || ended != 2 {
			t.Error("the end of the one hides the other of the same id")
		}
		if f.cancel("1") {
			t.Error("what has ended is cancelled")
		}
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
