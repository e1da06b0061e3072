package sessions

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shelf is an Equipper whose plugins a test changes.
type shelf struct {
	mu       sync.Mutex
	plugins  []Plugin
	revision int
}

func (s *shelf) Plugins() ([]Plugin, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plugins, s.revision
}

func (s *shelf) put(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plugins = nil
	for _, name := range names {
		s.plugins = append(s.plugins, Plugin{Name: name})
	}
	s.revision++
}

// told returns what a worker was told, each time: names of plugins, then variables.
func told(w *fakeWorker) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, e := range w.equipment {
		var names []string
		for _, p := range e.Plugins {
			names = append(names, p.Name)
		}
		all = append(all, fmt.Sprintf("%s %v", strings.Join(names, ","), e.Variables))
	}
	return all
}

func wantTold(t *testing.T, w *fakeWorker, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(w)); diff != "" {
		t.Error(diff)
	}
}

func text(s string) *string { return &s }

func setVariables(t *testing.T, m *Manager, id string, variables map[string]*string) *Setting {
	t.Helper()
	s, err := m.SetVariables(t.Context(), me, id, variables)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAWorkerIsToldOfChangesOnly, and before the execution that is to find them.
func TestAWorkerIsToldOfChangesOnly(t *testing.T) {
	starter, plugins := echoes(), &shelf{}
	plugins.put("a")
	m := newTestManager(t, starter, func(o *Options) {
		o.Equipper, o.SessionVariables = plugins, map[string]string{"db": "x"}
	})
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "1"})
	mustRun(t, m, RunRequest{Code: "2"})
	w := starter.started()[0]
	wantTold(t, w, "a map[db:x]")
	plugins.put("a", "b")
	mustRun(t, m, RunRequest{Code: "3"})
	wantTold(t, w, "a map[db:x]", "a,b map[db:x]")
	setVariables(t, m, "", map[string]*string{"db": nil, "key": text("k")})
	wantTold(t, w, "a map[db:x]", "a,b map[db:x]")
	mustRun(t, m, RunRequest{Code: "4"})
	wantTold(t, w, "a map[db:x]", "a,b map[db:x]", "a,b map[key:k]")
	// A fresh worker knows nothing.
	mustRun(t, m, RunRequest{Code: "5", Reset: true})
	wantTold(t, starter.started()[1], "a,b map[key:k]")
	// Another session has what the operator has set.
	other, err := m.Create(t.Context(), me, CreateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, m, RunRequest{Code: "6", InterpreterID: other.ID})
	wantTold(t, starter.started()[2], "a,b map[db:x]")
}

func TestWithoutPluginsNobodyIsTold(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, func(o *Options) { o.SessionVariables = map[string]string{"db": "x"} })
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "1"})
	wantTold(t, starter.started()[0])
}

// TestCopiesAreTold: a branch, an undo and a crash each bring another process,
// which was copied before the last change.
func TestCopiesAreTold(t *testing.T) {
	f, plugins := remembers(), &shelf{}
	plugins.put("a")
	m := surviving(t, f, func(o *Options) { o.Equipper, o.History = plugins, 1 })
	id := run(t, m, "1").InterpreterID
	setVariables(t, m, "", map[string]*string{"k": text("v")})

	child := branch(t, m, id)
	if diff := cmp.Diff([]string{"k"}, child.SessionVariables); diff != "" {
		t.Error(diff)
	}
	runIn(t, m, child.ID, "2")
	wantTold(t, f.lead(), "a map[k:v]")
	// From then on each has its own.
	setVariables(t, m, child.ID, map[string]*string{"k": text("w")})
	run(t, m, "3")
	undo(t, m)
	run(t, m, "4")
	wantTold(t, f.lead(), "a map[k:v]")
	run(t, m, "crash")
	run(t, m, "5")
	wantTold(t, f.lead(), "a map[k:v]")
}

// TestTheSecondTryIsTold: what runs code once more after a crash finds the same.
func TestTheSecondTryIsTold(t *testing.T) {
	plugins := &shelf{}
	plugins.put("a")
	crashed := false
	starter := workerThat(func(w *fakeWorker, _ Request, _ Sink) (Outcome, error) {
		if !crashed {
			crashed = true
			w.die("boom")
			return Outcome{}, w.crash
		}
		return Outcome{OK: true}, nil
	})
	m := newTestManager(t, starter, func(o *Options) { o.Equipper, o.RerunAfterCrash = plugins, true })
	defer m.Close(t.Context())
	if r := mustRun(t, m, RunRequest{Code: "1"}); r.Status != StatusOK {
		t.Fatalf("%+v", r)
	}
	wantTold(t, starter.started()[1], "a map[]")
}

func TestSetVariables(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, nil)
	defer m.Close(t.Context())
	first := setVariables(t, m, "", map[string]*string{"b": text("1"), "a": text(""), "never": nil})
	want := &Setting{InterpreterID: first.InterpreterID, Set: []string{"a", "b"}, Names: []string{"a", "b"}}
	if diff := cmp.Diff(want, first); diff != "" || len(starter.started()) != 0 {
		t.Errorf("%d workers\n%s", len(starter.started()), diff)
	}
	second := setVariables(t, m, first.InterpreterID, map[string]*string{"a": nil, "ü x": text("2")})
	want = &Setting{InterpreterID: first.InterpreterID, Set: []string{"ü x"}, Removed: []string{"a"}, Names: []string{"b", "ü x"}}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Error(diff)
	}
	listings, err := m.List(t.Context(), me)
	if err != nil || len(listings) != 1 {
		t.Fatalf("%+v %v", listings, err)
	}
	if diff := cmp.Diff([]string{"b", "ü x"}, listings[0].SessionVariables); diff != "" {
		t.Error(diff)
	}
}

// TestSetVariablesRefuses: all or none.
func TestSetVariablesRefuses(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	full := map[string]*string{}
	for i := range mostSessionVariables {
		full[fmt.Sprint(i)] = text(strings.Repeat("é", mostVariableValue))
	}
	id := setVariables(t, m, "", full).InterpreterID
	for words, variables := range map[string]map[string]*string{
		"at least one":              {},
		"empty name":                {"": text("x")},
		"more than 100 characters":  {strings.Repeat("n", 101): text("x")},
		"control characters":        {"a\nb": text("x")},
		"has 10001 characters":      {"1": text(strings.Repeat("x", 10_001))},
		"there would be 101":        {"more": text("x"), "1": text("changed")},
		"at most 100 are taken; re": {"more": text("x"), "never": nil},
	} {
		_, err := m.SetVariables(t.Context(), me, id, variables)
		wantCode(t, err, CodeInvalid, words)
	}
	if s := setVariables(t, m, "", map[string]*string{"more": text("x"), "0": nil}); len(s.Names) != mostSessionVariables {
		t.Errorf("%d names", len(s.Names))
	}
	_, err := m.SetVariables(t.Context(), other, id, map[string]*string{"a": nil})
	wantCode(t, err, CodeNotFound)
	_, err = m.SetVariables(t.Context(), Anonymous, "", map[string]*string{"a": text("b")})
	if err != nil {
		t.Error(err)
	}
}

func TestCheckSessionVariables(t *testing.T) {
	if err := CheckSessionVariables(map[string]string{"a": "b"}); err != nil {
		t.Error(err)
	}
	wantCode(t, CheckSessionVariables(map[string]string{"": "b"}), CodeInvalid, "empty name")
	many := map[string]string{}
	for i := range mostSessionVariables + 1 {
		many[fmt.Sprint(i)] = ""
	}
	wantCode(t, CheckSessionVariables(many), CodeInvalid, "101")
}
