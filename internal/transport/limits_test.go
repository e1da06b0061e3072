package transport

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestCallsAtOnceAreLimited(t *testing.T) {
	h := open(t, HTTPOptions{MaxCalls: 2})
	mine, yours := h.session(t), h.session(t)
	_, messages := h.stream(t.Context(), t)
	var held []<-chan string
	hold := func(q request) {
		held = append(held, h.later(t, q))
		soon(t, h.tools.began)
	}
	for id := range 2 {
		hold(post(calling(id, "wait", "")).with(mcpSession, mine))
		h.send(t, messages.saying(calling(id, "wait", "")))
		soon(t, h.tools.began)
	}
	for range 2 * anonymousShare {
		hold(inModern(t, post(calling(1, "wait", ""))))
	}
	call := calling(9, "remember", "")
	for name, q := range map[string]request{"older era": post(call).with(mcpSession, mine), "SSE": messages.saying(call), "newest era": inModern(t, post(call))} {
		response, _ := h.answers(t, name, q, http.StatusTooManyRequests)
		expect(t, response.Header.Get("Retry-After") != "", "%s: %v", name, response.Header)
	}
	h.answers(t, "another client", post(call).with(mcpSession, yours), http.StatusOK)
	// What is no request is always let through: a client must be able to cancel.
	h.send(t, post(cancelling("0")).with(mcpSession, mine))
	soon(t, h.tools.ended)
	eventually(t, "room for a call", func() bool {
		response, _ := h.send(t, post(call).with(mcpSession, mine))
		return response.StatusCode == http.StatusOK
	})
	for range 3 + 2*anonymousShare {
		h.tools.finish <- struct{}{}
	}
	for _, answered := range held {
		soon(t, answered)
	}
}

// TestRequestsASecondAreLimited, but a cancellation is never too much.
func TestRequestsASecondAreLimited(t *testing.T) {
	h := open(t, HTTPOptions{MaxRate: 0.001}) // nothing comes back during the test
	id := h.session(t)
	answered := h.later(t, post(calling(7, "wait", "")).with(mcpSession, id))
	soon(t, h.tools.began)
	_, body := h.answers(t, "one more", post(calling(1, "remember", "")).with(mcpSession, id), http.StatusTooManyRequests)
	expect(t, textOf(t, body) == "error: too many requests a second; slow down", "%v", body)
	if response, body := h.send(t, post(cancelling("7")).with(mcpSession, id)); response.StatusCode != http.StatusAccepted {
		t.Errorf("%s %s", response.Status, body)
		h.tools.finish <- struct{}{}
	}
	soon(t, answered)
}

// TestAskingIsNoGuess: who has no token yet is told where to get one, always.
func TestAskingIsNoGuess(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}})
	for range 3 * failureRate * failureBurst {
		h.answers(t, "nobody", post(initialize), http.StatusUnauthorized)
	}
	for range 3 * failureRate * failureBurst {
		h.answers(t, "poor", post(initialize).with("Authorization", "Bearer poor"), http.StatusForbidden)
	}
}

// TestGuessing: an address that fails too often must wait; who has shown good
// credentials from there need not.
func TestGuessing(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}})
	call := inModern(t, post(calling(1, "remember", "")))
	h.answers(t, "ann", call.with("Authorization", "Bearer ann"), http.StatusOK)
	refused := 0
	for range 20 * failureRate * failureBurst { // some come back meanwhile
		if response, _ := h.send(t, call.with("Authorization", "Bearer wrong")); response.StatusCode == http.StatusTooManyRequests {
			if refused++; refused > 10 {
				break
			}
		}
	}
	insist(t, refused != 0, "guessing goes on and on")
	h.answers(t, "honest credentials", call.with("Authorization", "Bearer ann"), http.StatusOK)
}

// TestRoomForSessions: who opens very many loses his own, and nobody who has
// few; one in use is never lost.
func TestRoomForSessions(t *testing.T) {
	p := newPeers()
	p.most = 5
	add := func(owner string, isSSE bool) *peer {
		return p.add("", owner, newSession(t.Context(), rand.Text(), nil), isSSE)
	}
	few, used := add("few", false), add("many", false)
	_, leave := p.enter(used.session.id, "")
	defer leave()
	oldest := add("many", false)
	add("many", false)
	add("many", true)
	few.last = time.Time{}
	oldest.last = time.Time{}.Add(time.Hour)
	gone, ok := p.room()
	expect(t, ok && gone == oldest && p.byID[oldest.session.id] == nil, "%+v %v", gone, ok)
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
	h.answers(t, "ann", post(calling(1, "remember", "")).with(mcpSession, honest, "Authorization", "Bearer ann"), http.StatusOK)
}

// TestLargeBodiesOfSlowSenders: what has not come takes no memory.
func TestLargeBodiesOfSlowSenders(t *testing.T) {
	h := open(t, HTTPOptions{})
	for range 2 * bodiesAtOnce {
		h.raw(t, h.head("POST", StreamablePath, "Content-Type: application/json", "Transfer-Encoding: chunked")+"1\r\n{\r\n")
	}
	call := inModern(t, post(calling(1, "remember", "")))
	h.answers(t, "a large one", call.saying(strings.Repeat(" ", 3*largeBody)+call.body), http.StatusOK)
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
	mine := &incoming{of: b, owner: "me", ctx: context.Background()}
	must(t, mine.grow(largeBody+bodiesAtOnce*limit/2))
	more := &incoming{of: b, owner: "me", ctx: context.Background()}
	err := more.grow(largeBody + 1)
	expect(t, err != nil, "one client has more than half")
	yours := &incoming{of: b, owner: "you", ctx: context.Background()}
	must(t, yours.grow(limit))
	mine.release()
	must(t, more.grow(largeBody+1))
}
