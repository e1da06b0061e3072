package sessions

import (
	"context"
	"strings"
	"testing"
)

// python is a worker whose code is "x = 1", "del x" or a name, of which it knows what
// its own lines have defined.
func python() *fakeStarter {
	return workerThat(func(w *fakeWorker, r Request, _ Sink) (Outcome, error) {
		if name, ok := strings.CutSuffix(r.Code, " = 1"); ok {
			return Outcome{OK: true, Variables: VariableDiff{Added: []string{name}}}, nil
		}
		if name, ok := strings.CutPrefix(r.Code, "del "); ok {
			return Outcome{OK: true, Variables: VariableDiff{Removed: []string{name}}}, nil
		}
		return Outcome{Exception: &Exception{Type: "NameError", Info: ExceptionInfo{Name: r.Code, Msg: "name '" + r.Code + "' is not defined"}}}, nil
	})
}

func noteOf(r *Result) string { return strings.Join(r.Notes, "\n") }

func TestMissingNameIsToldWhereItIs(t *testing.T) {
	m := newTestManager(t, python(), nil)
	defer m.Close(t.Context())
	create(t, m, anna, "data")
	create(t, m, bert, "data")
	runAs(t, m, anna, RunRequest{Code: "frame = 1", InterpreterID: "data"})
	runAs(t, m, bert, RunRequest{Code: "secret = 1", InterpreterID: "data"})

	want := `frame is defined in interpreter data; pass interpreter_id "data" to use it`
	if got := noteOf(runAs(t, m, anna, RunRequest{Code: "frame"})); got != want {
		t.Errorf("the note is %q, want %q", got, want)
	}
	for what, r := range map[string]*Result{
		"another client's":  runAs(t, m, anna, RunRequest{Code: "secret"}),
		"nobody's":          runAs(t, m, anna, RunRequest{Code: "nowhere"}),
		"the session's own": runAs(t, m, anna, RunRequest{Code: "frame", InterpreterID: "data"}),
	} {
		if note := noteOf(r); note != "" {
			t.Errorf("%s: %s", what, note)
		}
	}

	runAs(t, m, anna, RunRequest{Code: "del frame", InterpreterID: "data"})
	if note := noteOf(runAs(t, m, anna, RunRequest{Code: "frame"})); note != "" {
		t.Errorf("it is deleted: %s", note)
	}
}

func TestNamesGoWithTheirState(t *testing.T) {
	m := newTestManager(t, python(), nil)
	defer m.Close(t.Context())
	m.options.Starter.(*fakeStarter).forks = true
	m.options.History = 3
	create(t, m, anna, "data")
	defined := func(name string) bool {
		return noteOf(runAs(t, m, anna, RunRequest{Code: name})) != ""
	}
	runAs(t, m, anna, RunRequest{Code: "a = 1", InterpreterID: "data"})
	runAs(t, m, anna, RunRequest{Code: "b = 1", InterpreterID: "data"})
	if _, err := m.Branch(t.Context(), anna, "data"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Undo(t.Context(), anna, "data"); err != nil {
		t.Fatal(err)
	}
	if note := noteOf(runAs(t, m, anna, RunRequest{Code: "b"})); !strings.Contains(note, "in interpreter py1;") || strings.Contains(note, "data") {
		t.Errorf("b is undone in data and lives in its branch: %q", note)
	}
	runAs(t, m, anna, RunRequest{Code: "c = 1", InterpreterID: "data"})
	if note := noteOf(runAs(t, m, anna, RunRequest{Code: "b"})); strings.Contains(note, "data") {
		t.Errorf("a later execution does not bring it back: %q", note)
	}
	if _, err := m.Restart(t.Context(), anna, "data"); err != nil {
		t.Fatal(err)
	}
	if defined("c") {
		t.Error("c is gone with the restart")
	}
	if !defined("a") {
		t.Error("a lives in the branch")
	}
}

func TestNamesAreBounded(t *testing.T) {
	var c checkpoints
	c.startAfresh(0)
	var many []string
	for i := range 3 * mostDefined {
		many = append(many, strings.Repeat("n", 1+i%longestDefined)+string(rune('a'+i%26))+strings.Repeat("m", i/longestDefined))
	}
	c.advance(1)
	c.define(1, VariableDiff{Added: many})
	c.define(1, VariableDiff{Added: []string{strings.Repeat("n", longestDefined+1)}})
	if len(c.names) > mostDefined {
		t.Errorf("%d names are kept", len(c.names))
	}
}

// TestAProgramIsToldOfItsEarlierInterpreters: one that opens an MCP session for each call
// learns where the name lives, and nobody else does.
func TestAProgramIsToldOfItsEarlierInterpreters(t *testing.T) {
	place, needsHandle := "process:7.1", false
	m := newTestManager(t, python(), func(o *Options) {
		o.MaxSessions = 10
		o.Origin = func(context.Context) string { return place }
		o.NeedsHandle = func(Client) bool { return needsHandle }
	})
	defer m.Close(t.Context())
	first := runAs(t, m, "session:1", RunRequest{Code: "frame = 1"}).InterpreterID
	m.Leave(t.Context(), "session:1", true)
	second := runAs(t, m, "session:2", RunRequest{Code: "frame"})
	if got, want := noteOf(second), "frame is defined in interpreter "+first; !strings.Contains(got, want) {
		t.Errorf("the note is %q, want %q", got, want)
	}
	needsHandle = true
	if note := noteOf(runAs(t, m, "session:2", RunRequest{Code: "frame", InterpreterID: second.InterpreterID})); note != "" {
		t.Errorf("one process may be many people: %s", note)
	}
	needsHandle = false
	for client, where := range map[Client]string{"session:3": "process:8.1", "session:4": "address:192.0.2.1", "session:5": "", anna: "process:7.1"} {
		place = where
		if note := noteOf(runAs(t, m, client, RunRequest{Code: "frame"})); note != "" {
			t.Errorf("%s at %q: %s", client, where, note)
		}
	}
}
