package sessions

import (
	"context"
	"slices"
	"time"

	"understudy/internal/phrase"
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
	s, oldest, err := m.register(ctx, client, b)
	if oldest != nil {
		oldest.end(context.WithoutCancel(ctx))
	}
	if err == nil && b.parent == nil {
		s.introduce()
	}
	return s, err
}

// register makes the session and takes the one that has to go out of the maps; the
// caller ends that.
func (m *Manager) register(ctx context.Context, client Client, b birth) (s, oldest *Session, err error) {
	origin := m.originOf(ctx, client)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, Errorf(CodeClosed, "the server is stopping")
	}
	if client == Operator {
		return nil, nil, needsID()
	}
	if err := cancelled(ctx); err != nil { // nobody would ever use it
		return nil, nil, err
	}
	of := m.defaultOf(ctx, client)
	if s := m.defaults[of]; b.isDefault && s != nil {
		return s, nil, nil
	}
	name, err := m.name(client, b.name)
	if err != nil {
		return nil, nil, err
	}
	if oldest, err = m.makeRoom(of, origin, b); err != nil {
		return nil, nil, err
	}
	if s, err = newSession(newID(name), client, m.options, b.parent); err != nil {
		return nil, oldest, err
	}
	s.python, s.comesFrom = b.python, origin
	if b.parent != nil {
		s.descend(b.parent)
	}
	s.claimed = !b.isUnclaimed(of)
	if b.isDefault {
		s.conversation = of.conversation
	}
	m.insert(s, b.isDefault)
	if b.parent == nil {
		s.pendingNotice.notes = append(s.pendingNotice.notes, m.firstWords()...)
	}
	return s, oldest, nil
}

// firstWords are what the first answer of all says. The caller holds mu.
func (m *Manager) firstWords() (words []string) {
	if m.whereabouts != "" {
		words, m.whereabouts = []string{m.whereabouts}, ""
	}
	if m.options.Tenancy != nil && !m.introduced {
		m.introduced = true
		if introduction, _ := m.options.Tenancy(); introduction != "" {
			words = append(words, introduction)
		}
	}
	return words
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
	m.options.Workdir, m.options.roots.Shared, m.options.Locate = workdir, workdir, nil
	m.mu.Lock()
	m.whereabouts = note
	m.mu.Unlock()
}

// makeRoom checks the limits. Where one is reached a session gives way that nobody has
// come back for; where there is none and the operator allows it, the client's least
// recently used idle one. It is out of the maps; the caller ends it. The caller holds
// mu.
func (m *Manager) makeRoom(of defaultKey, origin string, b birth) (oldest *Session, err error) {
	room, flooded := len(m.sessions) < m.options.MaxSessions, len(m.owned[Anonymous]) >= m.mostOfNobody()
	isKnown := of.client != Anonymous
	var refusal *Error
	switch {
	case isKnown && m.isFull(of.client, origin):
		refusal = m.fullFor(of.client)
		if b.isDefault { // it asked for none: one of its own gives way that no call has come back to
			oldest = m.evictUnclaimed(func(s *Session) bool { return m.counts(s, of.client, origin) }, origin)
		}
	case room && !flooded:
		return nil, nil
	default:
		oldest = m.evictUnclaimed(func(s *Session) bool { return s.client == Anonymous || !flooded }, origin)
		if oldest == nil && isKnown && room {
			return nil, nil
		}
		if oldest == nil && isKnown && flooded {
			oldest = m.evictUnclaimed(func(*Session) bool { return true }, origin)
		}
		refusal = m.fullOf(of.client)
	}
	if oldest == nil && b.isDefault && of.conversation != "" { // it asked for none: an earlier conversation gives way
		oldest = m.evictOldest(of.client, "to make room for another conversation", func(s *Session) bool { return s.conversation != "" })
	}
	if oldest == nil && m.options.EndOldest && isKnown {
		oldest = m.evictOldest(of.client, "to make room for another one (--when-full end-oldest)", func(*Session) bool { return true })
	}
	if oldest != nil {
		return oldest, nil
	}
	return nil, refusal
}

// fullFor says to the client that it has as many as one may have. The caller holds mu.
func (m *Manager) fullFor(client Client) *Error {
	who := "you have %s already"
	if len(m.owned[client]) < m.options.MaxPerClient {
		who = "your program has %s already, by all its names and connections together"
	}
	return Errorf(CodeLimit, who+", the limit for one client (--max-sessions-per-client); delete one with manage_interpreters first", phrase.Count(m.options.MaxPerClient, "interpreter"))
}

// fullOf says to the client that the limit of all together is reached. The caller
// holds mu.
func (m *Manager) fullOf(client Client) *Error {
	if client == Anonymous {
		return Errorf(CodeLimit, "the limit of %s of callers without authentication (three quarters of --max-sessions) is reached, and all are in use; pass the interpreter_id of the one you have, or try again later", phrase.Count(m.mostOfNobody(), "interpreter"))
	}
	if len(m.owned[client]) > 0 {
		return Errorf(CodeLimit, "the limit of %d interpreters (--max-sessions) is reached; delete one with manage_interpreters first", m.options.MaxSessions)
	}
	return Errorf(CodeLimit, "the limit of %d interpreters (--max-sessions) is reached by other clients; try again later", m.options.MaxSessions)
}

// mostOfNobody is how many sessions may belong to nobody: three quarters of all,
// so that a flood of them leaves room for clients that are known.
func (m *Manager) mostOfNobody() int { return max(1, m.options.MaxSessions*3/4) }

// isUnclaimed reports whether a new session gives way to newcomers until somebody
// comes back for it: one that nobody asked for, and whose maker may never be heard of
// again.
func (b birth) isUnclaimed(of defaultKey) bool {
	return of.client == Anonymous || b.isDefault && (of.client.Keyed() || of.conversation != "")
}

// restTime is how long a client's interpreter is left alone after its last use, even if
// only one call has used it.
const restTime = time.Minute

// evictUnclaimed takes a session out of the maps whose client has left, or that nobody
// has come back for. First go those whose client has left, or that belong to nobody; then
// those of the newcomer's own origin; then those that were not used for restTime; of each
// the least recently used one. nil: all are in use. The caller holds mu.
//
// What may still happen: a client that made one call and no other for restTime loses its
// variables to a newcomer, and so does one at once that shares the newcomer's process or
// address (as all behind one proxy do). Its next call is told. While as many clients
// of different origins made their first call in the last minute as there is room for, a
// newcomer is refused.
func (m *Manager) evictUnclaimed(among func(*Session) bool, origin string) *Session {
	var left, own, rested []*Session
	for _, s := range m.sessions {
		switch isNobodys := s.client == Anonymous; {
		case !among(s) || s.claimed && !(isNobodys && s.abandoned):
		case isNobodys || m.options.HasEnded != nil && m.options.HasEnded(s.comesFrom):
			left = append(left, s)
		case s.comesFrom == origin:
			own = append(own, s)
		case time.Since(s.lastUsed()) >= restTime:
			rested = append(rested, s)
		}
	}
	for _, candidates := range [][]*Session{left, own, rested} {
		if s := m.evictFirst(candidates, whyUnclaimed); s != nil {
			return s
		}
	}
	return nil
}

func whyUnclaimed(s *Session) string {
	if s.abandoned {
		return "to make room for another one, as its client had left"
	}
	return "to make room for another one, as no call had come back to it"
}

// evictOldest takes the client's least recently used idle session out of the
// maps; nil when all are in use. The caller holds mu.
func (m *Manager) evictOldest(client Client, why string, among func(*Session) bool) *Session {
	var candidates []*Session
	for s := range m.owned[client] {
		if among(s) {
			candidates = append(candidates, s)
		}
	}
	return m.evictFirst(candidates, func(*Session) string { return why })
}

// evictFirst takes the first idle one in the order of their last use out of the maps.
// The caller holds mu.
func (m *Manager) evictFirst(candidates []*Session, why func(*Session) string) *Session {
	used := make(map[*Session]time.Time, len(candidates)) // asked once: it changes while they are sorted
	for _, s := range candidates {
		used[s] = s.lastUsed()
	}
	slices.SortFunc(candidates, func(a, b *Session) int { return used[a].Compare(used[b]) })
	for _, s := range candidates {
		if m.evict(s, why(s)) {
			return s
		}
	}
	return nil
}

// evict takes an idle session out of the maps and remembers why. The caller
// holds mu, and ends the session after it let go of it.
func (m *Manager) evict(s *Session, why string) bool {
	if !s.evict(why) {
		return false
	}
	m.endings.add(ending{id: s.id, client: s.client, why: why, isDefault: m.defaults[s.defaultKey()] == s, chat: s.conversation})
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
	m.defaults[s.defaultKey()] = s
	if former, ok := m.endings.forgetDefault(s.defaultKey()); ok {
		s.pendingNotice.notes = []string{"your earlier default interpreter " + s.client.Handle(former.id) + " was ended " + former.why + "; this is a new one, without its variables"}
	}
}

// remove takes s out of the maps. The caller holds mu.
func (m *Manager) remove(s *Session) {
	delete(m.sessions, s.id)
	delete(m.owned[s.client], s)
	if len(m.owned[s.client]) == 0 {
		delete(m.owned, s.client)
	}
	if m.defaults[s.defaultKey()] == s {
		delete(m.defaults, s.defaultKey())
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

// unclaimedTTL is how long a session lives, at most, that an anonymous call made
// and that no call has named since.
const unclaimedTTL = 10 * time.Minute

// reapIdle ends sessions that nobody used for their time-to-live. A running
// execution, however long, is use.
func (m *Manager) reapIdle() {
	tick := time.NewTicker(max(m.shortestTTL()/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case now := <-tick.C:
			endAll(context.Background(), m.takeIdle(now))
		}
	}
}

func (m *Manager) shortestTTL() time.Duration {
	shortest := m.options.IdleTTL
	if abandoned := min(m.options.AbandonedTTL, unclaimedTTL); abandoned > 0 && (shortest == 0 || abandoned < shortest) {
		shortest = abandoned
	}
	return shortest
}

// takeIdle removes the sessions that have been idle for too long.
func (m *Manager) takeIdle(now time.Time) []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var idle []*Session
	for _, s := range m.sessions {
		ttl, setting := m.timeToLive(s)
		if ttl == 0 || !s.lastUsed().Before(now.Add(-ttl)) {
			continue
		}
		if m.evict(s, "after being idle for "+phrase.Duration(ttl)+setting) {
			idle = append(idle, s)
		}
	}
	return idle
}

// timeToLive returns how long s may be idle, 0 for ever, and which setting says
// so. The caller holds mu.
func (m *Manager) timeToLive(s *Session) (ttl time.Duration, setting string) {
	ttl, setting = m.options.IdleTTL, " (--idle-ttl)"
	abandoned := m.options.AbandonedTTL
	if s.client != Anonymous || abandoned == 0 {
		return ttl, setting
	}
	why := ""
	if !s.claimed && unclaimedTTL < abandoned {
		abandoned, why = unclaimedTTL, ", as no call had named it"
	}
	if ttl == 0 || abandoned < ttl {
		return abandoned, why
	}
	return ttl, setting
}

// keptEndings is how many endings of ours are remembered.
const keptEndings = 256

// ending is a session that the server ended of its own accord.
type ending struct {
	id     string
	client Client
	why    string

	isDefault bool   // it was the client's default, and the next one is to say so
	chat      string // the conversation whose default it was
}

func (e ending) of() defaultKey { return defaultKey{e.client, e.chat} }

// endings remembers the last ones, the oldest first.
type endings []ending

func (e *endings) add(one ending) {
	*e = append(*e, one)
	if excess := len(*e) - keptEndings; excess > 0 {
		*e = slices.Delete(*e, 0, excess)
	}
}

// why says why the client's session was ended, "" if it wasn't by us.
func (e endings) why(client Client, id string) string {
	for _, one := range e {
		if one.id == id && (one.client == client || one.client == Anonymous || one.client.Keyed() && client.Keyed()) ||
			client != Anonymous && one.client == client && NameOf(one.id) == id {
			return one.why
		}
	}
	return ""
}

// farewell says what became of the client's default session, if we ended it
// and no other was made since; else "".
func (e endings) farewell(of defaultKey) string {
	text := ""
	for _, one := range e {
		if one.isDefault && one.of() == of {
			text = "your default interpreter " + of.client.Handle(one.id) + " was ended " + one.why + "; its variables are gone. run_python_code makes a new one"
		}
	}
	return text
}

// forgetDefault returns the default session that the client had before, if it was
// ended, to be told once.
func (e endings) forgetDefault(of defaultKey) (former ending, ok bool) {
	for i, one := range e {
		if one.isDefault && one.of() == of {
			former, ok = one, true
			e[i].isDefault = false
		}
	}
	return former, ok
}

// ended says that the server ended a session, and why.
func ended(id, why string) *Error {
	return Errorf(CodeNotFound, "Interpreter %s was ended %s; its variables are gone. Leave interpreter_id out for your default one, or make a new one with manage_interpreters, operation \"create\"", id, why)
}
