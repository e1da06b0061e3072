package sessions

import (
	"context"
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
	why := "after being idle for " + InWords(m.options.IdleTTL) + " (--idle-ttl)"
	m.mu.Lock()
	defer m.mu.Unlock()
	var idle []*Session
	for _, s := range m.sessions {
		if s.lastUsed().Before(then) && m.condemn(s, why) {
			idle = append(idle, s)
		}
	}
	return idle
}
