package transport

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRoomForSessions: who opens very many loses his own, and nobody who has
// few; one in use is never lost.
func TestRoomForSessions(t *testing.T) {
	p := newPeers()
	p.most = 5
	add := func(owner string, isSSE bool) *peer {
		return p.add("", owner, newSession(rand.Text(), t.Context(), nil), isSSE)
	}
	few, used := add("few", false), add("many", false)
	_, leave := p.enter(used.session.id, "")
	defer leave()
	oldest := add("many", false)
	add("many", false)
	add("many", true)
	few.last = time.Time{}
	oldest.last = time.Time{}.Add(time.Hour)
	if gone, ok := p.room(); !ok || gone != oldest || p.byID[oldest.session.id] != nil {
		t.Errorf("%+v %v", gone, ok)
	}
	if gone, ok := p.room(); !ok || gone != nil {
		t.Errorf("there is room: %+v %v", gone, ok)
	}
}

// TestManySessionsLockNobodyOut, over HTTP.
func TestManySessionsLockNobodyOut(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}})
	h.peers.most = 10
	honest := h.session(t, "Authorization", "Bearer ann")
	for range 30 {
		h.session(t, "Authorization", "Bearer bob")
	}
	h.session(t, "Authorization", "Bearer eve")
	call := post(calling(1, "remember", "")).with(mcpSession, honest, "Authorization", "Bearer ann")
	if response, _ := h.send(t, call); response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
}

// TestLargeBodiesOfSlowSenders: what has not come takes no memory.
func TestLargeBodiesOfSlowSenders(t *testing.T) {
	h := open(t, HTTPOptions{})
	for range 2 * bodiesAtOnce {
		head := h.head("POST", StreamablePath, "Content-Type: application/json", "Transfer-Encoding: chunked")
		if _, err := io.WriteString(h.raw(t), head+"1\r\n{\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	call := inModern(t, post(calling(1, "remember", "")))
	if response, body := h.send(t, call.saying(strings.Repeat(" ", 3*largeBody)+call.body)); response.StatusCode != http.StatusOK {
		t.Errorf("%s %s", response.Status, body)
	}
	eventually(t, "the memory of the large one", func() bool {
		h.bodies.mu.Lock()
		defer h.bodies.mu.Unlock()
		return len(h.bodies.taken) == 0
	})
}

// TestMemoryOfOneClient: one has half of it at most, and the rest is for others.
func TestMemoryOfOneClient(t *testing.T) {
	const limit = 4 * bodyStep
	b := newBodies(limit, patient) // which nobody needs: there is room for all of it
	mine := &share{of: b, owner: "me", ctx: context.Background()}
	if err := mine.grow(largeBody + bodiesAtOnce*limit/2); err != nil {
		t.Fatal(err)
	}
	more := &share{of: b, owner: "me", ctx: context.Background()}
	if err := more.grow(largeBody + 1); err == nil {
		t.Error("one client has more than half")
	}
	yours := &share{of: b, owner: "you", ctx: context.Background()}
	if err := yours.grow(limit); err != nil {
		t.Error(err)
	}
	mine.release()
	if err := more.grow(largeBody + 1); err != nil {
		t.Error(err)
	}
}
