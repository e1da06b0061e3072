package main

import (
	"fmt"
	"maps"
	"slices"
)

// state is what a session's interpreter must hold.
type state struct {
	variables map[string]value
	streams   map[string]stream // of random numbers, by module
	fresh     bool              // nothing has run in it: a fresh interpreter is the same
}

// stream is where a module's generator is that was seeded.
type stream struct{ seed, drawn int }

// freshState is what an interpreter holds at its start.
func freshState() state {
	return state{variables: map[string]value{}, streams: map[string]stream{}, fresh: true}
}

func (s state) clone() state {
	s.variables, s.streams = maps.Clone(s.variables), maps.Clone(s.streams)
	return s
}

// The variables with processes and threads have names of their own, so that no
// assignment makes the session lose sight of them.
const (
	childName  = "v_child"
	threadName = "v_thread"
	eventName  = "v_event"
)

// obstacle says what keeps the state from being copied, in a word of the
// server's reason, or "".
func (s state) obstacle() string {
	if s.variables[threadName].want == true {
		return "thread"
	}
	return ""
}

// hasChild reports whether there is a child process that runs.
func (s state) hasChild() bool {
	child, ok := s.variables[childName]
	return ok && child.want == nil
}

// ended gives the child process that the state knows as running a return code.
func (s *state) ended(code int) {
	if s.hasChild() {
		s.variables[childName] = endedChild(code)
	}
}

// What Popen says of children that a copy doesn't have any more: they were
// killed with the process that started them, or are another session's.
const (
	killedWithParent = -9
	leftWithOriginal = 255
)

// earlier is a state that undo can bring back.
type earlier struct {
	state  state
	before int    // the execution that it was the state before
	gone   string // why it can't be brought back, a word of the server's reason
	orphan bool   // its process is not a child of the lead any more
}

// model is what one session must be.
type model struct {
	forks   bool // the server can copy interpreters
	history int  // how many earlier states it keeps
	burst   bool // calls may come faster than it copies, so that it has copies of some states only

	now        state
	kept       []earlier // newest last
	executions int
	slack      int               // calls that were given up, which may have been executions
	files      map[string]string // in the working directory; no undo touches them

	// noop is set when the last execution lost its process and left nothing
	// behind, which the first undo after it must say, doing nothing.
	noop bool

	// died says whether the variables are back, when the process was killed while
	// nothing ran, which the next answer must say.
	died *bool
}

func newModel(forks bool, history int) model {
	return model{forks: forks, history: history, now: freshState(), files: map[string]string{}}
}

// recoverable reports whether a crash of the next call must leave the state as
// it is now.
func (m *model) recoverable() bool { return m.branchable() == "" }

// finished is what an execution did that came to its own end.
func (m *model) finished(change func(*state)) {
	if m.forks {
		m.kept = append(m.kept, earlier{state: m.now, before: m.executions, gone: m.now.obstacle()})
	}
	most := m.history
	if m.burst { // a copy may be of any of them
		most = 1000
	}
	m.kept = slices.Clone(m.kept[max(0, len(m.kept)-most):])
	m.now = m.now.clone()
	m.now.fresh, m.noop = false, false
	if change != nil {
		change(&m.now)
	}
}

// dies is a crash whose answer says what is back. In a burst that may be an older
// state, which it has to name; all is lost only where no copy can be left.
func (m *model) dies(r record, lost bool) (restored bool, err error) {
	switch {
	case !m.burst && lost, m.burst && !r.restored() && r.StateBefore == 0 && (lost || !m.hasCopy()):
		m.setBack()
		return false, nil
	case !m.burst || r.restored():
		return m.crashed(), nil
	}
	at := slices.IndexFunc(m.kept, func(e earlier) bool { return e.before == r.StateBefore })
	if at < 0 || m.kept[at].gone != "" {
		return false, fmt.Errorf("state_before is %d, which had no copy", r.StateBefore)
	}
	m.setBackTo(at)
	return false, nil
}

// hasCopy reports whether some state must have one, whatever came fast: the present one,
// or one as young as the history is long.
func (m *model) hasCopy() bool {
	young := m.kept[max(0, len(m.kept)-m.history):]
	return m.recoverable() || slices.ContainsFunc(young, func(e earlier) bool { return e.gone == "" && !e.state.fresh })
}

// crashed is what the death of the process during an execution, or between two,
// does. It reports whether the variables must be back.
func (m *model) crashed() (restored bool) {
	if !m.recoverable() {
		m.setBack()
		return false
	}
	m.woken()
	m.noop = true
	return true
}

// setBack is what a death does when the present state can't be brought back: the
// newest older one that can be takes its place, else all is lost.
func (m *model) setBack() {
	for i := len(m.kept) - 1; i >= 0 && !m.kept[i].state.fresh; i-- {
		if m.kept[i].gone == "" && !m.burst {
			m.setBackTo(i)
			return
		}
	}
	m.lost()
}

// setBackTo has a kept state come back.
func (m *model) setBackTo(i int) {
	m.now, m.kept = m.kept[i].state, m.kept[:i]
	m.woken()
	m.noop = true
}

// lost is what remains when no variables can be brought back.
func (m *model) lost() { m.now, m.kept, m.noop = freshState(), nil, false }

// woken is what a change to an understudy does: the children of the process
// that it replaces have been killed, and its other understudies are orphans.
func (m *model) woken() {
	m.now = m.now.clone()
	m.now.ended(killedWithParent)
	for i := range m.kept {
		m.kept[i].orphan = true
	}
}

// branchable returns the reason why a branch must be refused, "" if it must work.
func (m *model) branchable() string {
	if !m.forks {
		return "--start"
	}
	return m.now.obstacle()
}

// undoable returns the reason why undo must be refused, "" if it must work.
func (m *model) undoable() string {
	switch {
	case !m.forks:
		return "--start"
	case len(m.kept) == 0:
		return "undo"
	}
	return m.kept[len(m.kept)-1].gone
}

func (m *model) undo() {
	m.setBackTo(len(m.kept) - 1)
	m.noop = false
}

// killUnderstudies notes that understudies were killed: those of earlier states
// that are still the lead's children. The newest is replaced by the server.
func (m *model) killUnderstudies() {
	for i := range m.kept {
		if e := &m.kept[i]; !e.orphan && !e.state.fresh && e.gone == "" {
			e.gone = "ended"
		}
	}
}

// branch is the model of a session that is branched from this one, whose
// numbers it continues.
func (m *model) branch() model {
	b := newModel(m.forks, m.history)
	b.burst = m.burst
	b.now, b.executions = m.now.clone(), m.executions
	b.now.ended(leftWithOriginal)
	b.now.fresh = false // a process holds it, even if nothing ran in the original
	return b
}

// restart is what remains of a session whose variables are dropped on request.
func (m *model) restart() {
	m.lost()
	m.died = nil
}
