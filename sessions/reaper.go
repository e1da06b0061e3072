package sessions

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// reapIdle ends sessions that nobody used for the idle time-to-live. A running
// execution, however long, is use.
func (m *Manager) reapIdle() {
	tick := time.NewTicker(max(m.options.IdleTTL/10, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case now := <-tick.C:
			endAll(context.Background(), m.takeIdle(now.Add(-m.options.IdleTTL)))
		}
	}
}

// takeIdle removes the sessions that have been idle since before then.
func (m *Manager) takeIdle(then time.Time) []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	var idle []*Session
	for _, s := range m.sessions {
		if since, ok := s.idleSince(); ok && since.Before(then) {
			m.remove(s)
			s.log.Info("ending idle interpreter", "idle_since", since)
			idle = append(idle, s)
		}
	}
	return idle
}

func sortByAge(listings []Listing) {
	slices.SortFunc(listings, func(a, b Listing) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}
