package transport

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSilentClientsAreForgotten, but none whose call is still running or that
// listens.
func TestSilentClientsAreForgotten(t *testing.T) {
	left := make(chan string, 10)
	// It is swept when the test says so: however slow this machine is, nobody is
	// forgotten before that.
	h := open(t, HTTPOptions{Left: func(client string, gone bool) {
		expect(t, !gone, "%s said nothing", client)
		left <- client
	}})
	sweep := func() { h.forgetSilent(t.Context(), time.Now().Add(time.Hour)) }
	busy := h.session(t)
	answered := h.later(t, post(calling(1, "wait", "")).with(mcpSession, busy))
	soon(t, h.tools.began)
	silent := h.session(t)
	sweep()
	got := soon(t, left)
	insist(t, got == "session:"+silent, "%s was forgotten, not %s", got, silent)
	h.answers(t, "a forgotten client", post(calling(1, "remember", "")).with(mcpSession, silent), http.StatusNotFound)
	insist(t, len(left)+len(h.tools.ended) <= 0, "a client with a running call was forgotten")
	h.tools.finish <- struct{}{}
	text := textOf(t, soon(t, answered))
	expect(t, text == "finished", "%v", text)
	eventually(t, "the call's end", func() bool {
		sweep()
		return len(left) > 0
	})
	if got := <-left; got != "session:"+busy {
		t.Errorf("%s was forgotten, not %s", got, busy)
	}
}

// TestSweeping: nobody has to ask for it.
func TestSweeping(t *testing.T) {
	left := make(chan string, 1)
	h := open(t, HTTPOptions{ClientTTL: time.Millisecond, Left: func(client string, _ bool) { left <- client }})
	id := h.session(t)
	got := soon(t, left)
	expect(t, got == "session:"+id, "%s was forgotten, not %s", got, id)
}

// TestTheLogNamesNoSession that its reader could use.
func TestTheLogNamesNoSession(t *testing.T) {
	log := &bytes.Buffer{}
	h := open(t, HTTPOptions{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	id := h.session(t)
	h.send(t, post(calling(1, "remember", "")).with(mcpSession, id))
	h.send(t, post(`{"jsonrpc":"2.0","id":9,"result":{}}`).with(mcpSession, id)) // which nobody waits for
	h.forgetSilent(t.Context(), time.Now().Add(time.Hour))
	h.stop()
	soon(t, h.over)
	h.over <- nil
	text := log.String()
	expect(t, !strings.Contains(text, id) && strings.Contains(text, id[:8]), "%s in the log:\n%s", id, text)
}
