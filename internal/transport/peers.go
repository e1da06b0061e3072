package transport

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// maxPeers is how many MCP sessions may be open at once; each costs some
// kilobytes.
const maxPeers = 10_000

// peer is a client of an older era: an MCP session, of streamable HTTP or SSE.
type peer struct {
	session   *session
	isSSE     bool
	principal string // who opened it; nobody else may use it
	owner     string // whose use of the room for sessions it is
	last      time.Time
	busy      int // requests and streams that are being served
	calls     inflight
}

// peers are the MCP sessions that are alive.
type peers struct {
	most int
	mu   sync.Mutex
	byID map[string]*peer
}

func newPeers() *peers { return &peers{most: maxPeers, byID: map[string]*peer{}} }

// room makes room for another session, false if there is none. When it is full
// a session is forgotten that nobody uses, of who has the most of them: so
// nobody can lock the others out. That session is not to be found any more.
func (p *peers) room() (forgotten *peer, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.byID) < p.most {
		return nil, true
	}
	of := map[string]int{}
	for _, one := range p.byID {
		of[one.owner]++
	}
	for _, one := range p.byID {
		if one.isSSE || one.busy > 0 {
			continue
		}
		if forgotten == nil || of[one.owner] > of[forgotten.owner] ||
			of[one.owner] == of[forgotten.owner] && one.last.Before(forgotten.last) {
			forgotten = one
		}
	}
	if forgotten == nil {
		return nil, false
	}
	delete(p.byID, forgotten.session.id)
	return forgotten, true
}

// ownerOf is who opens a session: a principal, else an address.
func ownerOf(r *http.Request, principal string) string {
	if principal != "" {
		return principalPrefix + principal
	}
	return "address:" + address(r)
}

// add makes a session known that a principal has opened.
func (p *peers) add(principal, owner string, s *session, isSSE bool) *peer {
	one := &peer{session: s, isSSE: isSSE, principal: principal, owner: owner, last: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[s.id] = one
	return one
}

// enter returns the session, in use until leave is called. It is nil when there
// is none of that id that is the principal's: another's is as unknown as one
// that never was.
func (p *peers) enter(id, principal string) (one *peer, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one = p.byID[id]
	if one == nil || one.principal != principal {
		return nil, func() {}
	}
	one.busy++
	return one, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		one.busy--
		one.last = time.Now()
	}
}

// remove forgets the session. It returns true to the first who does.
func (p *peers) remove(one *peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.byID[one.session.id]
	delete(p.byID, one.session.id)
	return ok
}

// silent returns the clients of streamable HTTP that have not been busy since
// then. They are not to be found any more.
func (p *peers) silent(then time.Time) []*peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	var silent []*peer
	for id, one := range p.byID {
		if !one.isSSE && one.busy == 0 && one.last.Before(then) {
			delete(p.byID, id)
			silent = append(silent, one)
		}
	}
	return silent
}

// admit makes room for another client.
func (h *HTTP) admit(ctx context.Context) bool {
	forgotten, ok := h.peers.room()
	if forgotten != nil {
		h.forget(ctx, forgotten, "there are too many clients")
	}
	return ok
}

// sweep forgets clients that are silent for too long or whose process has ended, until ctx
// ends.
func (h *HTTP) sweep(ctx context.Context) {
	silent := make(<-chan time.Time) // never, where no client is silent for too long
	ttl := h.options.ClientTTL
	if ttl > 0 {
		silent = time.Tick(max(ttl/4, time.Millisecond))
	}
	ended := time.Tick(h.options.processSweep)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-silent:
			h.forgetSilent(ctx, now.Add(-ttl))
		case <-ended:
			for _, client := range h.processes.ended() {
				h.left(Caller{Client: client}, false)
			}
		}
	}
}

// forgetSilent forgets the clients of streamable HTTP that have not been busy since
// then; never one whose call is running.
func (h *HTTP) forgetSilent(ctx context.Context, then time.Time) {
	for _, silent := range h.peers.silent(then) {
		h.forget(ctx, silent, "it sent nothing for long")
	}
}

// forget ends a session that is not to be found any more.
func (h *HTTP) forget(ctx context.Context, p *peer, why string) {
	id := p.session.id
	h.log.Info("a client is forgotten: "+why, "session", id[:min(8, len(id))]) // too little of it to use it
	h.mcp.UnregisterSession(ctx, id)
	h.left(Caller{Principal: p.principal}.ofSession(id), false)
}

// left tells that a client is gone, unless it is a principal.
func (h *HTTP) left(caller Caller, gone bool) {
	if caller.Principal == "" && h.options.Left != nil && !h.work.isStopping() {
		h.options.Left(caller.Client, gone)
	}
}
