package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// step is code with everything that it must do when it comes to its end.
type step struct {
	code           string
	stdout, stderr string
	change         func(*state)      // what it does to the variables
	files          map[string]string // what it writes, which no crash takes back
	added          []string          // what the record must name as added, and nothing else, if not nil
	changed        []string          // what it must name as changed, beside others
	variable       string            // result_var_name
	result         string            // its value as JSON
	figures        int
	slow           bool // may take longer than a short time limit
}

// then is the step with more code after it, in the same call, that keeps it from
// ending well, or from telling what it changed.
func (t step) then(code string) step {
	t.code += "\n" + code
	t.added, t.changed, t.variable, t.result = nil, nil, "", ""
	return t
}

// want is what the answer to a step must be.
type want struct {
	status  string
	excType string
	// dies is a part of the reason for which the process dies, "" if it lives.
	dies string
	// lost says in a word why the variables can't be back, other than what the
	// model knows of.
	lost string
}

var (
	fine        = want{status: "ok"}
	interrupted = want{status: "interrupted", excType: "KeyboardInterrupt"}
)

// crash is the want of a step whose process dies.
func crash(reason string) want {
	return want{status: "crashed", excType: "InterpreterCrash", dies: reason}
}

func (s *session) arguments(t step, more arguments) arguments {
	args := arguments{"code": t.code}
	if s.id != "" {
		args["interpreter_id"] = s.id
	}
	if t.variable != "" {
		args["result_var_name"] = t.variable
	}
	maps.Copy(args, more)
	return args
}

// ok runs a step that must come to its end.
func (s *session) ok(t step) { s.run(t, nil, fine) }

// run runs a step and compares the answer with the model, which follows.
func (s *session) run(t step, more arguments, w want) answer {
	a := s.send(runTool, s.arguments(t, more))
	if more["reset"] == true {
		s.model.restart()
	}
	s.judge(a, t, w)
	return a
}

// judge compares the last answer of an execution with what it must be, and has
// the model follow.
func (s *session) judge(a answer, t step, w want) {
	if a.refused {
		failf("the call was refused: %s", a.text)
	}
	if s.id == "" {
		s.id = a.record.InterpreterID
	}
	s.model.executions++
	if late := a.record.Execution - s.model.executions; late > 0 && late <= s.model.slack {
		s.model.executions, s.model.slack = a.record.Execution, s.model.slack-late
	}
	maps.Copy(s.model.files, t.files)
	fail(
		same("interpreter_id", a.record.InterpreterID, s.id),
		same("execution", a.record.Execution, s.model.executions),
		same("status", a.record.Status, w.status),
		same("success", a.record.Success, w.status == "ok"),
		same("exc_type", a.record.ExcType, w.excType),
		s.sameOutput(a, t.stdout),
		same("stderr", a.record.Stderr, t.stderr),
		same("the number of figures", len(a.record.Figures), t.figures),
		same("the number of images", a.images, t.figures),
		sameResult(a.record.Result, t.result),
		sameChanges(a.record.Changes, t),
		s.judgeRestart(a.record, t, w),
	)
}

// judgeRestart compares what the answer says of the process and its state.
func (s *session) judgeRestart(r record, t step, w want) error {
	var wrong error
	reason, restored, died := w.dies, true, s.model.died
	s.model.died = nil
	if w.dies != "" {
		restored, wrong = s.model.dies(r, w.lost != "")
	} else {
		s.model.finished(t.change)
		if died != nil {
			reason, restored = "between two calls", *died
		}
	}
	recoverable := sameFlag("recoverable", r.Recoverable, s.model.recoverable())
	if reason == "" {
		return errors.Join(
			recoverable,
			same("interpreter_restarted", r.InterpreterRestarted, false),
			same("restart_reason", r.RestartReason, ""),
			same("restarted_before_run", r.RestartedBeforeRun, false),
			same("state_restored is absent", r.StateRestored == nil, true),
		)
	}
	err := errors.Join(
		wrong,
		recoverable,
		same("interpreter_restarted", r.InterpreterRestarted, true),
		same("restarted_before_run", r.RestartedBeforeRun, w.dies == ""),
		s.judgeReason(r.RestartReason, reason),
		sameFlag("state_restored", r.StateRestored, restored),
	)
	if notes := strings.Join(r.Notes, "\n"); !restored && s.model.forks {
		err = errors.Join(err, contains("the notes", notes, "could not be brought back"))
		if !s.model.burst || !strings.Contains(notes, "--copy-share") {
			err = errors.Join(err, contains("the notes", notes, w.lost))
		}
	}
	return err
}

// judgeReason compares the reason of a death. A forker that is killed in the
// moment in which it reaps a worker takes the worker's status with it.
func (s *session) judgeReason(got, part string) error {
	if got == "ended in an unknown way" && s.unknown.Add(-1) >= 0 {
		s.counts.add("statuses lost with a forker", 1)
		return nil
	}
	return contains("restart_reason", got, part)
}

func sameResult(got json.RawMessage, want string) error {
	if want == "" {
		return same("result", string(got), "")
	}
	var g, w any
	if err := errors.Join(json.Unmarshal(got, &g), json.Unmarshal([]byte(want), &w)); err != nil {
		return fmt.Errorf("result is %q, not %s: %w", got, want, err)
	}
	return same("result", fmt.Sprint(g), fmt.Sprint(w))
}

func sameChanges(got *changes, t step) error {
	if got == nil {
		got = &changes{}
	}
	if t.added != nil && (!slices.Equal(got.Added, t.added) || len(got.Changed)+len(got.Removed) > 0) {
		return fmt.Errorf("variables is %+v; %v, and nothing else, should have been added", *got, t.added)
	}
	for _, name := range t.changed {
		if !slices.Contains(got.Changed, name) {
			return fmt.Errorf("variables is %+v; %s should be among the changed", *got, name)
		}
	}
	return nil
}

const (
	uncut      = 2_600  // how many characters of output an answer has whole in any case
	mostAnswer = 50_000 // how many characters an answer has at most
)

// sameOutput compares stdout. Of long output the answer has head and tail, with
// a marker between that counts what is missing, and names a file with all.
func (s *session) sameOutput(a answer, want string) error {
	got := a.record
	if got.StdoutTruncated == 0 {
		return same("stdout", got.Stdout, want)
	}
	head, tail, found := strings.Cut(got.Stdout, fmt.Sprintf("\n[%d characters truncated]\n", got.StdoutTruncated))
	switch {
	case len(want) < uncut:
		return fmt.Errorf("stdout has %d characters and was cut", len(want))
	case len(a.text) > mostAnswer:
		return fmt.Errorf("the answer has %d characters", len(a.text))
	case !found:
		return fmt.Errorf("stdout has no marker for %d missing characters: %s", got.StdoutTruncated, shorten(got.Stdout))
	case !strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail):
		return fmt.Errorf("stdout begins or ends otherwise: %s", shorten(got.Stdout))
	case len(head)+len(tail)+got.StdoutTruncated != len(want):
		return fmt.Errorf("stdout has %d + %d and misses %d characters, of %d", len(head), len(tail), got.StdoutTruncated, len(want))
	}
	if s.network && got.OutputPath == "" { // it is a resource there
		return nil
	}
	whole, err := os.ReadFile(got.OutputPath)
	return errors.Join(err, same("the whole of stdout", string(whole), want))
}
