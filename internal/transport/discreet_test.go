package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestTheLogNamesNoSession that its reader could use.
func TestTheLogNamesNoSession(t *testing.T) {
	log := &lockedBuffer{}
	left := make(chan string, 10)
	h := open(t, HTTPOptions{
		Left:   func(client string, _ bool) { left <- client },
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	id := h.session(t)
	answer, _ := h.follow(t.Context(), t, post(calling(1, "ask", "")).with(mcpSession, id))
	var question struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(answer.next()), &question); err != nil {
		t.Fatal(err)
	}
	reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, question.ID)
	h.send(t, post(reply).with(mcpSession, id))
	h.send(t, post(reply).with(mcpSession, id)) // which nobody waits for
	answer.next()
	eventually(t, "the end of what it asked", func() bool {
		h.forgetSilent(t.Context(), time.Now().Add(time.Hour))
		return len(left) > 0
	})
	if client := <-left; client != "session:"+id {
		t.Errorf("%s left", client)
	}
	if text := log.String(); strings.Contains(text, id) || !strings.Contains(text, id[:8]) {
		t.Errorf("%s in the log:\n%s", id, text)
	}
}
