package sessions

import (
	"context"
	"maps"
	"slices"
	"time"
)

// birth says what a new session is to be.
type birth struct {
	isDefault bool
	name      string   // as in CreateRequest.InterpreterID, which was checked
	python    string   // as in CreateRequest
	parent    *Session // nil unless it is a branch, which is not entered before it is made
}

// checkPython refuses a Python that the server does not have.
func (m *Manager) checkPython(ctx context.Context, name string) error {
	switch check := m.options.CheckPython; {
	case name == "":
		return nil
	case check == nil:
		return Errorf(CodeInvalid, "python: this server has one Python only; leave python out")
	default:
		return check(ctx, name)
	}
}

// add makes a session, if need be in the place of the client's oldest. Of two
// calls that want a default at once, both get the same.
func (m *Manager) add(ctx context.Context, client Client, b birth) (*Session, error) {
	m.settle(ctx)
	if err := m.checkPython(ctx, b.python); err != nil {
		return nil, err
	}
	s, oldest, err := m.admit(ctx, client, b)
	if oldest != nil {
		oldest.end(context.WithoutCancel(ctx))
	}
	if err == nil && b.parent == nil {
		s.introduce()
	}
	return s, err
}

// admit makes the session and takes the one that has to go out of the maps; the
// caller ends that.
func (m *Manager) admit(ctx context.Context, client Client, b birth) (s, oldest *Session, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, Errorf(CodeClosed, "the server is stopping")
	}
	if err := cancelled(ctx); err != nil { // nobody would ever use it
		return nil, nil, err
	}
	if s := m.defaults[client]; b.isDefault && s != nil {
		return s, nil, nil
	}
	name, err := m.name(client, b.name)
	if err != nil {
		return nil, nil, err
	}
	if oldest, err = m.makeRoom(client); err != nil {
		return nil, nil, err
	}
	if s, err = newSession(newID(name), client, m.options, b.parent); err != nil {
		return nil, oldest, err
	}
	s.python = b.python
	if b.parent != nil {
		s.descend(b.parent)
	}
	m.insert(s, b.isDefault)
	if b.parent == nil && m.whereabouts != "" {
		s.untold.notes, m.whereabouts = append(s.untold.notes, m.whereabouts), ""
	}
	return s, oldest, nil
}

// settle asks where sessions work, unless that is known.
func (m *Manager) settle(ctx context.Context) {
	m.locating.Lock()
	defer m.locating.Unlock()
	if m.options.Locate == nil || ctx.Err() != nil { // then no session is made either
		return
	}
	workdir, note := m.options.Locate(ctx)
	if ctx.Err() != nil { // the answer may be for want of time
		return
	}
	m.options.Workdir, m.options.Locate = workdir, nil
	m.mu.Lock()
	m.whereabouts = note
	m.mu.Unlock()
}

// makeRoom checks the limits. Where that of all together is reached, or nobody's
// sessions are too many, it takes one out of the maps that nobody came back to;
// where that doesn't help and the operator allows it, the client's least recently
// used idle one. The caller holds mu.
func (m *Manager) makeRoom(client Client) (oldest *Session, err error) {
	if client == Anonymous {
		return m.makeAnonymousRoom()
	}
	own, room := len(m.owned[client]), len(m.sessions) < m.options.MaxSessions
	var refusal *Error
	switch {
	case m.isFull(client):
		refusal = Errorf(CodeLimit, "you have %s already, the limit for one client (--max-sessions-per-client); delete one with manage_interpreters first", Counted(own, "interpreter"))
	case room && len(m.owned[Anonymous]) < m.mostOfNobody():
		return nil, nil
	case m.condemnNobodys(&oldest) || room:
		return oldest, nil
	case own > 0:
		refusal = Errorf(CodeLimit, "the limit of %d interpreters (--max-sessions) is reached; delete one with manage_interpreters first", m.options.MaxSessions)
	case m.leftBehind() > 0:
		refusal = Errorf(CodeLimit, "the limit of %d interpreters (--max-sessions) is reached; %d of them belonged to clients that have left, and give way once they have been idle for %s: try again then", m.options.MaxSessions, m.leftBehind(), InWords(unclaimedRest))
	default:
		refusal = Errorf(CodeLimit, "the limit of %d interpreters (--max-sessions) is reached by other clients; try again later", m.options.MaxSessions)
	}
	if m.options.EndOldest {
		if oldest = m.condemnOldest(client); oldest != nil {
			return oldest, nil
		}
	}
	return nil, refusal
}

// unclaimedRest is how long a session that nobody has named yet, or whose client
// has left, stays out of the way of newcomers: an agent may think for a while
// before its second call, and a client that lost its connection comes back.
const unclaimedRest = time.Minute

// mostOfNobody is how many sessions may belong to nobody: three quarters of all,
// so that a flood of them leaves room for clients that are known.
func (m *Manager) mostOfNobody() int { return max(1, m.options.MaxSessions*3/4) }

// makeAnonymousRoom is makeRoom for a caller that can't be told from others.
// None ends what another one uses. The caller holds mu.
func (m *Manager) makeAnonymousRoom() (oldest *Session, err error) {
	most := m.mostOfNobody()
	if len(m.owned[Anonymous]) < most && len(m.sessions) < m.options.MaxSessions {
		return nil, nil
	}
	if m.condemnNobodys(&oldest) {
		return oldest, nil
	}
	return nil, Errorf(CodeLimit, "the limit of %s of callers without authentication (three quarters of --max-sessions) is reached; pass the interpreter_id of the one you have, or try again later", Counted(most, "interpreter"))
}

// condemnNobodys takes the session out of the maps that has been idle for longest
// of those whose id nobody has shown since an anonymous call made them, or since
// their client left. The caller holds mu.
func (m *Manager) condemnNobodys(oldest **Session) bool {
	since := time.Now().Add(-unclaimedRest)
	var found *Session
	for s := range m.owned[Anonymous] {
		if used := s.lastUsed(); (s.abandoned || !s.named) && used.Before(since) {
			found, since = s, used
		}
	}
	if found == nil {
		return false
	}
	why := "to make room for another one, as no call had named it"
	if found.abandoned {
		why = "to make room for another one, as its client had left"
	}
	if !m.condemn(found, why) {
		return false
	}
	*oldest = found
	return true
}

// leftBehind counts the sessions whose clients have left. The caller holds mu.
func (m *Manager) leftBehind() (n int) {
	for s := range m.owned[Anonymous] {
		if s.abandoned {
			n++
		}
	}
	return n
}

// condemnOldest takes the client's least recently used idle session out of the
// maps; nil when all are in use. The caller holds mu.
func (m *Manager) condemnOldest(client Client) *Session {
	used := map[*Session]time.Time{} // asked once: it changes while they are sorted
	for s := range m.owned[client] {
		used[s] = s.lastUsed()
	}
	own := slices.Collect(maps.Keys(used))
	slices.SortFunc(own, func(a, b *Session) int { return used[a].Compare(used[b]) })
	for _, s := range own {
		if m.condemn(s, "to make room for another one (--when-full end-oldest)") {
			return s
		}
	}
	return nil
}

// condemn takes an idle session out of the maps and remembers why. The caller
// holds mu, and ends the session after it let go of it.
func (m *Manager) condemn(s *Session, why string) bool {
	if !s.condemn(why) {
		return false
	}
	m.endings.add(ending{id: s.id, client: s.client, why: why, home: m.defaults[s.client] == s})
	m.remove(s)
	s.log.Info("ending interpreter", "why", why)
	return true
}

// insert puts a new session into the maps. The caller holds mu.
func (m *Manager) insert(s *Session, isDefault bool) {
	m.sessions[s.id] = s
	if m.owned[s.client] == nil {
		m.owned[s.client] = map[*Session]bool{}
	}
	m.owned[s.client][s] = true
	if !isDefault {
		return
	}
	m.defaults[s.client] = s
	if former, ok := m.endings.leaveHome(s.client); ok {
		s.untold.notes = []string{"your earlier default interpreter " + s.client.Handle(former.id) + " was ended " + former.why + "; this is a new one, without its variables"}
	}
}

// remove takes s out of the maps. The caller holds mu.
func (m *Manager) remove(s *Session) {
	delete(m.sessions, s.id)
	delete(m.owned[s.client], s)
	if len(m.owned[s.client]) == 0 {
		delete(m.owned, s.client)
	}
	if m.defaults[s.client] == s {
		delete(m.defaults, s.client)
	}
}

// ownedBy returns the client's sessions.
func (m *Manager) ownedBy(client Client) []*Session {
	if client == Anonymous { // what belongs to nobody is not one caller's
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	own := make([]*Session, 0, len(m.owned[client]))
	for s := range m.owned[client] {
		own = append(own, s)
	}
	return own
}
