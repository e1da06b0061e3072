package sessions

import (
	"context"
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
