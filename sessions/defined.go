package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

const (
	// mostHomes is how many interpreters a hint names.
	mostHomes = 3
)

// tellHome adds to the result of a run that missed a name which of the client's other
// sessions, or of its process's, has it: agents that use several lose count, and a client that connects anew
// for each call gets another one.
func (m *Manager) tellHome(ctx context.Context, client Client, s *Session, r *Result) {
	if r.ExcType != "NameError" || r.ExcInfo == nil || r.ExcInfo.Name == "" {
		return
	}
	var homes []string
	for _, other := range slices.Backward(m.akin(ctx, client)) {
		if other != s && other.states.defines(r.ExcInfo.Name) && len(homes) < mostHomes {
			homes = append(homes, other.name)
		}
	}
	if len(homes) > 0 {
		r.note(fmt.Sprintf("%s is defined in interpreter %s; pass interpreter_id %q to use it", r.ExcInfo.Name, strings.Join(homes, " and in "), homes[0]))
	}
}
