package sessions

import (
	"context"
	"maps"
	"sync"
	"time"
)

// statsPatience bounds what Stats measures: a process costs about 2
// milliseconds, and who asks has a time limit of its own.
const statsPatience = time.Second

// Stats is how the Manager stands, in numbers that name nobody.
type Stats struct {
	Sessions int
	Running  int // sessions that run code
	Waiting  int // calls that wait for a session's turn
	Clients  int // who have a session
	// Unfetched is how many results nobody has collected yet.
	Unfetched int
	// Memory is the resident size of all workers, in bytes, and Private the
	// part of it, and of their copies, that no other process shares. Of a
	// session that could not be measured in time it has the last known size.
	Memory, Private uint64
	// Starts counts workers since the beginning, by what they were made from:
	// "zygote", "root", "spawn", "branch", "understudy".
	Starts map[string]uint64
	// FailedStarts counts the starts that gave no worker.
	FailedStarts uint64
}

// Origins of workers that are copies of others.
const (
	originBranch     = "branch"
	originUnderstudy = "understudy"
)

// Stats tells how the Manager stands. It waits for no call.
func (m *Manager) Stats(ctx context.Context) Stats {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	stats := Stats{Sessions: len(all), Clients: len(m.owned)}
	m.mu.Unlock()

	stats.Starts, stats.FailedStarts = m.options.tally.read()
	patience, cancel := context.WithTimeout(ctx, statsPatience)
	defer cancel()
	for _, s := range all {
		stats.add(s, patience.Err() == nil)
	}
	return stats
}

// Usage counts the sessions, and those that run code. It waits for no call and
// measures nothing.
func (m *Manager) Usage() (interpreters, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.runningNow() != nil || !s.turn.idle() {
			running++
		}
	}
	return len(m.sessions), running
}

// add counts one session in.
func (t *Stats) add(s *Session, measure bool) {
	l := s.listing()
	if measure {
		s.measure(&l)
	}
	if l.Running > 0 {
		t.Running++
	}
	t.Waiting += l.Waiting
	t.Unfetched += l.Unfetched
	t.Memory += l.Memory
	t.Private += l.Private
}

// tally counts what happens to all sessions.
type tally struct {
	mu       sync.Mutex
	origins  map[string]uint64
	failures uint64
}

func (t *tally) started(origin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.origins == nil {
		t.origins = map[string]uint64{}
	}
	t.origins[origin]++
}

func (t *tally) failed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures++
}

func (t *tally) read() (origins map[string]uint64, failures uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.origins), t.failures
}
