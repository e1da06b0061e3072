package sessions

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of session variables: every worker of a session is told them.
const (
	mostSessionVariables = 100
	mostVariableName     = 100    // characters
	mostVariableValue    = 10_000 // characters
)

// Setting says what became of a session's variables for plugins.
type Setting struct {
	InterpreterID string `json:"interpreter_id"`
	// Set and Removed are the names that the call was about, sorted; one that was
	// to be removed and was not there is in neither.
	Set     []string `json:"set,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Names are all that are set now, sorted.
	Names []string `json:"session_variables"`
}

// SetVariables sets session variables of a session, or of the client's default
// one, which is made if need be; a nil value removes one. All are taken or none.
// Plugins find them from the next execution on. They are no part of Python's
// state: a restart keeps them, an undo does not bring them back, and a branch
// begins with a copy.
func (m *Manager) SetVariables(ctx context.Context, client Client, id string, variables map[string]*string) (*Setting, error) {
	if len(variables) == 0 {
		return nil, Errorf(CodeInvalid, "variables must name at least one session variable, as in [{\"name\": \"database\", \"value\": \"sales.db\"}]")
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if err := checkSessionVariable(name, variables[name]); err != nil {
			return nil, err
		}
	}
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.session(ctx, client, id)
	if err != nil {
		return nil, err
	}
	_, leave, err := s.visit(ctx, aUser)
	if err == nil {
		defer leave()
		var set *Setting
		if set, err = s.setVariables(variables); err == nil {
			return set, nil
		}
	}
	if client == Anonymous && id == "" {
		m.discard(ctx, s)
	}
	return nil, err
}

// CheckSessionVariables refuses what SetVariables would, for those that each
// session begins with.
func CheckSessionVariables(variables map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		if err := checkSessionVariable(name, &value); err != nil {
			return err
		}
	}
	if len(variables) > mostSessionVariables {
		return tooManyVariables(len(variables))
	}
	return nil
}

func checkSessionVariable(name string, value *string) error {
	switch {
	case name == "":
		return Errorf(CodeInvalid, "a session variable has an empty name; give it one")
	case utf8.RuneCountInString(name) > mostVariableName:
		return Errorf(CodeInvalid, "the name of a session variable, %.30s…, has more than %d characters", name, mostVariableName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return Errorf(CodeInvalid, "the name of a session variable, %q, has control characters", name)
	case value != nil && utf8.RuneCountInString(*value) > mostVariableValue:
		return Errorf(CodeInvalid, "session variable %q has %d characters, and at most %d are taken; put the text into a file and set its path", name, utf8.RuneCountInString(*value), mostVariableValue)
	}
	return nil
}

func tooManyVariables(n int) error {
	return Errorf(CodeInvalid, "there would be %d session variables, and at most %d are taken; remove some by setting them to null", n, mostSessionVariables)
}

func (s *Session) setVariables(variables map[string]*string) (*Setting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := maps.Clone(s.sessionVariables)
	if now == nil {
		now = map[string]string{}
	}
	done := &Setting{InterpreterID: s.name}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		_, there := now[name]
		switch {
		case value != nil:
			now[name] = *value
			done.Set = append(done.Set, name)
		case there:
			delete(now, name)
			done.Removed = append(done.Removed, name)
		}
	}
	if len(now) > mostSessionVariables {
		return nil, tooManyVariables(len(now))
	}
	s.sessionVariables = now
	s.keepSecret(now)
	s.variablesSet++
	done.Names = slices.AppendSeq([]string{}, maps.Keys(now))
	slices.Sort(done.Names)
	return done, nil
}

// variablesNow returns the session variables, not to be changed, and how often
// they have been set.
func (s *Session) variablesNow() (variables map[string]string, set int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionVariables, s.variablesSet
}
