package sessions

import (
	"context"
	"strings"
)

// party is who a client is without the name that it gives itself: of a process, or a
// user of this machine, that is one for all its names.
func (c Client) party() string {
	if isLocal(string(c)) {
		party, _, _ := strings.Cut(string(c), " ")
		return party
	}
	return string(c)
}

// isLocal reports whether an origin is a process or a user of this machine, and no place
// that unrelated clients may share.
func isLocal(origin string) bool {
	return strings.HasPrefix(origin, "process:") || strings.HasPrefix(origin, "user:")
}

// originOf returns where a client calls from: what tells programs without
// authentication from each other where they can be many clients. The caller does not
// hold mu: to find a process may take milliseconds.
func (m *Manager) originOf(ctx context.Context, client Client) string {
	if client != Anonymous && client.Keyed() && m.options.Origin != nil && !m.needsHandle(client) {
		if origin := m.options.Origin(ctx); origin != "" {
			return origin
		}
	}
	return client.party()
}

// counts reports whether the session counts for the limit of the client that calls from
// there: its own, and those of its process's other names and MCP sessions. The caller
// holds mu.
func (m *Manager) counts(s *Session, client Client, origin string) bool {
	return s.client == client || s.client != Anonymous && s.client.Keyed() && isLocal(origin) && s.comesFrom == origin
}

// isFull reports whether the client has as many sessions as one may have. The caller
// holds mu.
func (m *Manager) isFull(client Client, origin string) bool {
	most := m.options.MaxPerClient
	if most <= 0 {
		return false
	}
	n := 0
	for _, s := range m.sessions {
		if m.counts(s, client, origin) {
			n++
		}
	}
	return n >= most
}

// akin returns the client's sessions and, of a process without authentication, those of
// its other names and MCP sessions, which may have ended; the oldest first. Clients that
// must name a session may be many people behind one process: none learns another's ids.
func (m *Manager) akin(ctx context.Context, client Client) []*Session {
	own := m.ownedBy(client)
	origin := m.originOf(ctx, client)
	if strings.HasPrefix(origin, "process:") && !m.needsHandle(client) {
		m.mu.Lock()
		for _, s := range m.sessions {
			if s.client != client && s.client.Keyed() && s.comesFrom == origin {
				own = append(own, s)
			}
		}
		m.mu.Unlock()
	}
	sortByAge(own)
	return own
}
