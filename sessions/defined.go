package sessions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// mostDefined and longestDefined bound which names are remembered of a session's
	// variables, the latter in bytes.
	mostDefined    = 2000
	longestDefined = 100
)

// define remembers which names an execution has given to variables and which it has
// taken away. advance comes first.
func (c *checkpoints) define(execution int, d VariableDiff) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range d.Removed {
		delete(c.names, name)
	}
	for _, name := range d.Added {
		if len(name) > longestDefined || len(c.names) >= mostDefined {
			continue
		}
		if c.names == nil {
			c.names = map[string]int{}
		}
		c.names[name] = execution
	}
}

// defined are the names that a branch begins with.
func (c *checkpoints) defined() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.names)
}

// undefine forgets the names that are not in the present state, which is an older one
// now. A name that was taken away after it is not remembered again. The caller holds mu.
func (c *checkpoints) undefine() {
	maps.DeleteFunc(c.names, func(_ string, by int) bool { return by > c.present().after })
}

// defines reports whether the present state is known to have a variable of that name.
func (c *checkpoints) defines(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ended && c.names[name] > 0
}

const (
	// mostOthers is how many interpreters a hint names.
	mostOthers = 3
)

// noteWhereDefined adds to the result of a run that missed a name which of the client's other
// sessions, or of its process's, has it: agents that use several lose count, and a client that connects anew
// for each call gets another one.
func (m *Manager) noteWhereDefined(ctx context.Context, client Client, s *Session, r *Result) {
	if r.ExcType != "NameError" || r.ExcInfo == nil || r.ExcInfo.Name == "" {
		return
	}
	var others []string
	for _, other := range slices.Backward(m.akin(ctx, client)) {
		if other != s && other.states.defines(r.ExcInfo.Name) && len(others) < mostOthers {
			others = append(others, other.name)
		}
	}
	if len(others) > 0 {
		r.note(fmt.Sprintf("%s is defined in interpreter %s; pass interpreter_id %q to use it", r.ExcInfo.Name, strings.Join(others, " and in "), others[0]))
	}
}
