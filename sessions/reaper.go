package sessions

import (
	"context"
	"slices"
	"time"

	"understudy/internal/phrase"
)

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
