package sessions

import (
	"fmt"
	"slices"
	"time"

	"understudy/internal/phrase"
)

// Operator is the person whose server it is, at a prompt beside the agent. It sees
// and uses every session and owns none. What it runs is its own: an agent's wait
// returns no result of it, and its failures are not the agent's. The next answer
// to the session's owner tells that it was there.
const Operator Client = "operator"

// needsID says that the operator has no session of its own.
func needsID() *Error {
	return Errorf(CodeInvalid, "interpreter_id is required: the operator has no interpreter of its own")
}

// visible returns the sessions that the client's list shows.
func (m *Manager) visible(client Client) []*Session {
	if client != Operator {
		return m.ownedBy(client)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	return all
}

// visits are the operator's runs in a session that its owner has not heard of.
type visits struct {
	executions []int
	names      []string // that they have added, changed or removed
	incidents  []string // what became of the process
}

// add notes a run of the operator's.
func (v *visits) add(r *Result, died bool) {
	v.executions = append(v.executions, r.Execution)
	if r.Variables != nil {
		for _, name := range slices.Concat(r.Variables.Added, r.Variables.Changed, r.Variables.Removed) {
			if !slices.Contains(v.names, name) {
				v.names = append(v.names, name)
			}
		}
	}
	if died {
		v.incidents = append(v.incidents, fmt.Sprintf("execution %d %s; %s", r.Execution, r.death(), r.remainder()))
	}
}

// inWords tells of them in a note, if there were any.
func (v *visits) inWords() []string {
	if len(v.executions) == 0 {
		return nil
	}
	note := "meanwhile a person ran " + namesOf(v.executions) + " in this interpreter (understudy attach)"
	if len(v.names) > 0 {
		note += ", which added, changed or removed " + someOf(v.names, 20)
	}
	for _, incident := range v.incidents {
		note += "; " + incident
	}
	return []string{note}
}

// foreign says of an execution that another one than the caller started it, "" if
// the caller may wait for it. The caller holds the session's mu.
func (s *Session) foreign(operator bool) string {
	e := s.current
	switch {
	case e == nil || e.operator == operator:
		return ""
	case e.operator:
		return fmt.Sprintf("a person has been running execution %d in it for %s (understudy attach)", e.number, phrase.Duration(time.Since(e.started)))
	default:
		return fmt.Sprintf("the agent's execution %d has been running in it for %s", e.number, phrase.Duration(time.Since(e.started)))
	}
}
