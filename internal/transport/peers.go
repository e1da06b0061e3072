package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// maxPeers is how many MCP sessions may be open at once; each costs some
// kilobytes.
const maxPeers = 10_000

// peer is a client of an older era: an MCP session, of streamable HTTP or SSE.
type peer struct {
	id        string
	principal string  // who opened it; nobody else may use it
	owner     string  // whose use of the room for sessions it is
	stream    *stream // of a client of SSE
	last      time.Time
	busy      int  // requests and streams that are being served
	dismissed bool // by its client
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
		if one.stream != nil || one.busy > 0 {
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
	delete(p.byID, forgotten.id)
	return forgotten, true
}

// admit makes room for another client.
func (h *HTTP) admit(ctx context.Context) bool {
	forgotten, ok := h.peers.room()
	if forgotten != nil {
		h.forget(ctx, forgotten, "there are too many clients")
	}
	return ok
}

// ownerOf is who opens a session: a principal, else an address.
func ownerOf(r *http.Request, principal string) string {
	if principal != "" {
		return principalPrefix + principal
	}
	return "address:" + address(r)
}

// add makes a session for a principal.
func (p *peers) add(principal, owner string, s *stream) string {
	one := &peer{id: rand.Text(), principal: principal, owner: owner, last: time.Now(), stream: s}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[one.id] = one
	return one.id
}

// enter returns the session, in use until leave is called. It is nil when there
// is none of that id that is the principal's: another's is as unknown as one
// that never was.
func (p *peers) enter(id, principal string) (one *peer, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one = p.owned(id, principal)
	if one == nil {
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

// owned finds the principal's session. The caller holds mu.
func (p *peers) owned(id, principal string) *peer {
	if one := p.byID[id]; one != nil && one.principal == principal {
		return one
	}
	return nil
}

// has reports whether the session is there and the principal's.
func (p *peers) has(id, principal string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owned(id, principal) != nil
}

// remove forgets the session.
func (p *peers) remove(id, principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owned(id, principal) != nil {
		delete(p.byID, id)
	}
}

// dismiss returns true to the first who ends the session.
func (p *peers) dismiss(id, principal string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.owned(id, principal)
	if one == nil || one.dismissed {
		return false
	}
	one.dismissed = true
	return true
}

// silent returns the clients of streamable HTTP that have not been busy since
// then. They are not to be found any more.
func (p *peers) silent(then time.Time) []*peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	var silent []*peer
	for id, one := range p.byID {
		if one.stream == nil && one.busy == 0 && one.last.Before(then) {
			delete(p.byID, id)
			silent = append(silent, one)
		}
	}
	return silent
}

var errNoSession = errors.New("no such session")

// keeper is what mcp-go asks about the session ids of one request.
type keeper struct {
	peers     *peers
	principal string
	owner     string
}

// ResolveSessionIdManager binds the ids to who sends the request.
//
//nolint:staticcheck // ST1003: mcp-go chose the name
func (p *peers) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	k := keeper{peers: p}
	if r != nil {
		k.principal = CallerFrom(r.Context()).Principal
		k.owner = ownerOf(r, k.principal)
	}
	return k
}

func (k keeper) Generate() string { return k.peers.add(k.principal, k.owner, nil) }

func (k keeper) Validate(id string) (terminated bool, err error) {
	if !k.peers.has(id, k.principal) {
		return false, errNoSession
	}
	return false, nil
}

func (k keeper) Terminate(id string) (notAllowed bool, err error) {
	k.peers.remove(id, k.principal)
	return false, nil
}
