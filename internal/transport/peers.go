package transport

import (
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// peer is a client of an older era: an MCP session, of streamable HTTP or SSE.
type peer struct {
	id        string
	principal string // who opened it; nobody else may use it
	last      time.Time
	busy      int     // requests and streams that are being served
	stream    *stream // of a client of SSE
}

// peers are the MCP sessions that are alive.
type peers struct {
	mu   sync.Mutex
	byID map[string]*peer
}

func newPeers() *peers { return &peers{byID: map[string]*peer{}} }

// add makes a session for a principal.
func (p *peers) add(principal string, s *stream) string {
	one := &peer{id: rand.Text(), principal: principal, last: time.Now(), stream: s}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byID[one.id] = one
	return one.id
}

// find returns the session if it is the principal's. Another's is as unknown
// as one that never was.
func (p *peers) find(id, principal string) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byID[id]; one != nil && one.principal == principal {
		return one
	}
	return nil
}

// enter marks the session as in use until leave is called; nil when there is
// no such session of the principal's.
func (p *peers) enter(id, principal string) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byID[id]
	if one == nil || one.principal != principal {
		return nil
	}
	one.busy++
	one.last = time.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		one.busy--
		one.last = time.Now()
	}
}

// remove forgets the session; false when it was not there.
func (p *peers) remove(id, principal string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byID[id]
	if one == nil || one.principal != principal {
		return false
	}
	delete(p.byID, id)
	return true
}

var errNoSession = errors.New("no such session")

// keeper is what mcp-go asks about the session ids of one request.
type keeper struct {
	peers     *peers
	principal string
}

// ResolveSessionIdManager binds the ids to who sends the request.
func (p *peers) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	k := keeper{peers: p}
	if r != nil {
		k.principal = CallerFrom(r.Context()).Principal
	}
	return k
}

func (k keeper) Generate() string { return k.peers.add(k.principal, nil) }

func (k keeper) Validate(id string) (terminated bool, err error) {
	if k.peers.find(id, k.principal) == nil {
		return false, errNoSession
	}
	return false, nil
}

func (k keeper) Terminate(id string) (notAllowed bool, err error) {
	k.peers.remove(id, k.principal)
	return false, nil
}
