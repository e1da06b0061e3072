package sessions

import "time"

const (
	// mostTail is how much of a run's output a Pulse has, in bytes: what is left of it
	// if the server is killed.
	mostTail = 64 << 10
	// mostTails is how much all Pulses have together, of many that print much.
	mostTails = 4 << 20
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
	Tail      string // all output, or its end behind a Marker
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
		pulses[i] = s.pulse(min(mostTail, mostTails/len(all)))
	}
	return pulses
}

func (s *Session) pulse(room int) Pulse {
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
	p.Tail = e.transcript.SoFar(room)
	return p
}
