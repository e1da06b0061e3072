package transport

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"understudy/internal/proc"
)

// socketPeer is who is at the other end of a connection, as far as the system tells: a
// process, or else a user by its number, or neither.
type socketPeer struct {
	process proc.ID
	user    string
}

const (
	// processSweep is how often it is looked whether the processes that are
	// clients are still there.
	processSweep = 10 * time.Second
	// mostNames is how many names the client of one process may give itself; all
	// later ones are one.
	mostNames = 64
)

// processes are those that are clients, with the names that they gave themselves.
type processes struct {
	mu    sync.Mutex
	names map[proc.ID][]string
}

// name is what the client is called in the process.
func (p *processes) name(of proc.ID, name string) string {
	name = shortName(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[proc.ID][]string{}
	}
	known := p.names[of]
	if !slices.Contains(known, name) {
		if len(known) >= mostNames {
			return known[mostNames-1]
		}
		p.names[of] = append(known, name)
	}
	return name
}

// all returns the processes.
func (p *processes) all() []proc.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]proc.ID, 0, len(p.names))
	for one := range p.names {
		all = append(all, one)
	}
	return all
}

// ended forgets the processes that have ended, and returns who they were as clients.
func (p *processes) ended() (clients []string) {
	for _, one := range p.all() {
		if !one.HasEnded() {
			continue
		}
		p.mu.Lock()
		for _, name := range p.names[one] {
			clients = append(clients, processPrefix+one.String()+" "+name)
		}
		delete(p.names, one)
		p.mu.Unlock()
	}
	return clients
}

type peerKey struct{}

// withPeer gives the requests of a connection who is at its other end. That is
// looked up once, when somebody asks: most connections are of clients that are known
// otherwise.
func (h *HTTP) withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(lookUpPeer(c, &h.processes)))
}

// peerFrom returns who is at the other end of the request's connection.
func peerFrom(ctx context.Context) socketPeer {
	if find, ok := ctx.Value(peerKey{}).(func() socketPeer); ok {
		return find()
	}
	return socketPeer{}
}

// bare is the connection below those that only wrap it.
func bare(c net.Conn) net.Conn {
	for {
		switch wrapped := c.(type) {
		case *boundedConn:
			c = wrapped.Conn
		case interface{ NetConn() net.Conn }: // TLS
			c = wrapped.NetConn()
		default:
			return c
		}
	}
}
