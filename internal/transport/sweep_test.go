package transport

import (
	"net/http"
	"testing"
	"time"
)

// TestSilentClientsAreForgotten, but none whose call is still running or that
// listens.
func TestSilentClientsAreForgotten(t *testing.T) {
	left := make(chan string, 10)
	h := open(t, HTTPOptions{ClientTTL: 2 * time.Second, Left: func(client string, gone bool) {
		if gone {
			t.Errorf("%s said nothing", client)
		}
		left <- client
	}})
	busy := h.session(t)
	answered := make(chan string, 1)
	go func() {
		_, body := h.send(t, post(calling(1, "wait", "")).with(mcpSession, busy))
		answered <- body
	}()
	soon(t, h.tools.began)
	silent := h.session(t)
	if got := soon(t, left); got != "session:"+silent {
		t.Fatalf("%s was forgotten, not %s", got, silent)
	}
	if response, _ := h.send(t, post(calling(1, "remember", "")).with(mcpSession, silent)); response.StatusCode != http.StatusNotFound {
		t.Errorf("a forgotten client: %s", response.Status)
	}
	if len(left)+len(h.tools.ended) > 0 {
		t.Fatal("a client with a running call was forgotten")
	}
	h.tools.finish <- struct{}{}
	if text := textOf(t, soon(t, answered)); text != "finished" {
		t.Error(text)
	}
	if got := soon(t, left); got != "session:"+busy {
		t.Errorf("%s was forgotten, not %s", got, busy)
	}
}
