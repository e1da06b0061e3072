package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// judged is a session after one execution, and a call with its right answer.
func judged() (*session, answer, step, want) {
	s := &session{life: &life{soak: &soak{}}, id: "id", model: newModel(true, 1)}
	s.model.finished(assign(1))
	s.model.executions = 1
	yes := true
	a := answer{record: record{
		InterpreterID: "id", Execution: 2, Status: "ok", Success: true, Result: json.RawMessage("7"),
		Stdout: "out\n", Stderr: "err\n", Changes: &changes{Added: []string{"y"}}, Recoverable: &yes,
	}}
	t := step{stdout: "out\n", stderr: "err\n", result: "7", added: []string{"y"}, change: set("y", number(7))}
	return s, a, t, fine
}

func judgement(s *session, a answer, t step, w want) error {
	return guard(func() { s.judge(a, t, w) })
}

// crashed makes them a crash with its right answer.
func crashed() (*session, answer, step, want) {
	s, a, t, _ := judged()
	yes := true
	t.result, t.added = "", nil
	a.record.Result, a.record.Changes = nil, nil
	a.record.Status, a.record.Success, a.record.ExcType = "crashed", false, "InterpreterCrash"
	a.record.InterpreterRestarted, a.record.RestartReason, a.record.StateRestored = true, "killed by SIGSEGV", &yes
	return s, a, t, crash("SIGSEGV")
}

func TestJudgeAcceptsWhatIsRight(t *testing.T) {
	s, a, st, w := judged()
	if err := judgement(s, a, st, w); err != nil || x(s.model, "y") != int64(7) {
		t.Error(err)
	}
	s, a, st, w = crashed()
	if err := judgement(s, a, st, w); err != nil || x(s.model, "y") != nil || x(s.model, "x") != int64(1) {
		t.Error(err)
	}
}

func TestJudgeFindsWhatIsWrong(t *testing.T) {
	no := false
	for name, falsify := range map[string]func(*answer){
		"refused":         func(a *answer) { a.refused = true },
		"interpreter":     func(a *answer) { a.record.InterpreterID = "other" },
		"execution":       func(a *answer) { a.record.Execution = 3 },
		"status":          func(a *answer) { a.record.Status = "error" },
		"success":         func(a *answer) { a.record.Success = !a.record.Success },
		"exception":       func(a *answer) { a.record.ExcType = "ValueError" },
		"stdout":          func(a *answer) { a.record.Stdout = "out" },
		"stderr":          func(a *answer) { a.record.Stderr += "more" },
		"result":          func(a *answer) { a.record.Result = json.RawMessage("8") },
		"figure":          func(a *answer) { a.record.Figures = make([]struct{}, 1) },
		"image":           func(a *answer) { a.images = 1 },
		"restart":         func(a *answer) { a.record.InterpreterRestarted = !a.record.InterpreterRestarted },
		"restart reason":  func(a *answer) { a.record.RestartReason = "for fun" },
		"state lost":      func(a *answer) { a.record.StateRestored = &no },
		"not recoverable": func(a *answer) { a.record.Recoverable = &no },
		"nothing of it":   func(a *answer) { a.record.Recoverable = nil },
	} {
		for kind, make := range map[string]func() (*session, answer, step, want){"ok": judged, "crashed": crashed} {
			s, a, st, w := make()
			falsify(&a)
			if judgement(s, a, st, w) == nil {
				t.Errorf("%s: an answer with the wrong %s was accepted", kind, name)
			}
		}
	}
	s, a, st, w := judged()
	a.record.Changes.Changed = []string{"x"}
	if judgement(s, a, st, w) == nil {
		t.Error("a change of a variable that the step leaves alone was accepted")
	}
	s, a, st, w = crashed()
	w.lost = "from outside"
	if judgement(s, a, st, w) == nil {
		t.Error("variables that can't be there were accepted")
	}
}

func TestLongOutputIsComparedAsAWhole(t *testing.T) {
	whole := strings.Repeat("0123456789", 5000)
	path := filepath.Join(t.TempDir(), "stdout")
	s := &session{life: &life{soak: &soak{}}}
	sameOutput := func(r record, want string) error { return s.sameOutput(answer{record: r}, want) }
	r := record{
		Stdout:          whole[:100] + "\n[49800 characters truncated]\n" + whole[49_900:],
		StdoutTruncated: 49_800, OutputPath: path,
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole)
	if err := sameOutput(r, whole); err != nil {
		t.Error(err)
	}
	for name, falsify := range map[string]func(*record){
		"count":  func(r *record) { r.StdoutTruncated++ },
		"head":   func(r *record) { r.Stdout = "x" + r.Stdout[1:] },
		"tail":   func(r *record) { r.Stdout += "x" },
		"marker": func(r *record) { r.Stdout = strings.Replace(r.Stdout, "[", "(", 1) },
		"file":   func(*record) { write(whole[1:]) },
	} {
		wrong := r
		falsify(&wrong)
		if sameOutput(wrong, whole) == nil {
			t.Errorf("a wrong %s was accepted", name)
		}
	}
	if s.sameOutput(answer{record: r, text: strings.Repeat("x", mostAnswer+1)}, whole) == nil {
		t.Error("an answer that is too long was accepted")
	}
	if sameOutput(record{Stdout: "a\n[1 characters truncated]\nb", StdoutTruncated: 1}, "a b") == nil {
		t.Error("short output was cut, and that was accepted")
	}
}
