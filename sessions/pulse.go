package sessions

import (
	"strings"
	"time"

	"understudy/internal/screen"
)

// Pulse is what a session does at this moment, for who watches from outside.
type Pulse struct {
	InterpreterID string
	Client        Client
	Memory        uint64 // resident bytes of its process; 0 if unknown
	Waiting       int    // calls that wait for its turn

	// The rest is zero while nothing runs.
	Execution int
	Code      string
	Started   time.Time
	Limit     time.Duration
	Tail      string // the last lines of output
	Secrets   []string
}

// Pulses tells what each session does now, oldest first. It waits for nothing.
func (m *Manager) Pulses() []Pulse {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	sortByAge(all)
	pulses := make([]Pulse, len(all))
	for i, s := range all {
		pulses[i] = s.pulse()
	}
	return pulses
}

func (s *Session) pulse() Pulse {
	s.mu.Lock()
	p := Pulse{InterpreterID: s.id, Client: s.client, Waiting: s.turn.queued(), Secrets: s.secrets}
	e, w := s.current, s.worker
	s.mu.Unlock()
	if w != nil {
		p.Memory = w.Resident()
	}
	if e == nil {
		return p
	}
	p.Execution, p.Code, p.Started, p.Limit = e.number, e.request.Code, e.started, e.limit
	p.Tail = e.transcript.tail()
	return p
}

// tail returns the end of what was printed, whole lines where it is cut.
func (t *transcript) tail() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.fresh.term.end(lastSize)
	if _, rest, cut := strings.Cut(text, "\n"); cut && len(text) >= lastSize {
		text = rest
	}
	return screen.Text(text)
}
