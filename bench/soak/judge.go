package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// step is code with everything that it must do when it comes to its end.
type step struct {
	code           string
	stdout, stderr string
	change         func(*state)      // what it does to the variables
	files          map[string]string // what it writes, which no crash takes back
	added          []string          // what the record must name as added, if not nil
	changed        []string          // what it must name as changed, beside others
	variable       string            // result_var_name
	result         string            // its value as JSON
	figures        int
	slow           bool // may take longer than a short time limit
}

// then is the step with more code after it, in the same call.
func (t step) then(code string) step {
	t.code += "\n" + code
	t.added, t.changed = nil, nil
	return t
}

// call is how a step is called.
type call struct {
	timeout float64 // seconds; 0 is the server's default
	wait    *float64
	reset   bool
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

func (s *session) arguments(t step, c call) arguments {
	args := arguments{"code": t.code}
	if s.id != "" {
		args["interpreter_id"] = s.id
	}
	if t.variable != "" {
		args["result_var_name"] = t.variable
	}
	if c.timeout > 0 {
		args["timeout"] = c.timeout
	}
	if c.wait != nil {
		args["wait"] = *c.wait
	}
	if c.reset {
		args["reset"] = true
	}
	return args
}

// ok runs a step that must come to its end.
func (s *session) ok(ctx context.Context, t step) error {
	_, err := s.run(ctx, t, want{status: "ok"})
	return err
}

// run runs a step and compares the answer with the model, which follows.
func (s *session) run(ctx context.Context, t step, w want) (answer, error) {
	return s.runAs(ctx, t, call{}, w)
}

func (s *session) runAs(ctx context.Context, t step, c call, w want) (answer, error) {
	a, err := s.send(ctx, runTool, s.arguments(t, c))
	if err != nil {
		return a, err
	}
	if c.reset {
		s.model.restart()
	}
	return a, s.judge(a, t, w)
}

// judge compares the last answer of an execution with what it must be, and has
// the model follow.
func (s *session) judge(a answer, t step, w want) error {
	if a.refused {
		return s.wrong("the call was refused: %s", a.text)
	}
	if s.id == "" {
		s.id = a.record.InterpreterID
	}
	s.model.executions++
	err := errors.Join(
		same("interpreter_id", a.record.InterpreterID, s.id),
		same("execution", a.record.Execution, s.model.executions),
		same("status", a.record.Status, w.status),
		same("success", a.record.Success, w.status == "ok"),
		same("exc_type", a.record.ExcType, w.excType),
		sameOutput(a.record, t.stdout),
		same("stderr", a.record.Stderr, t.stderr),
		same("the number of figures", len(a.record.Figures), t.figures),
		same("the number of images", a.images, t.figures),
		sameResult(a.record.Result, t.result),
		sameAdded(a.record.Changes, t.added),
		hasChanged(a.record.Changes, t.changed),
	)
	maps.Copy(s.model.files, t.files)
	return s.blame(errors.Join(err, s.judgeRestart(a, t, w)))
}

// judgeRestart compares what the answer says of the process and its state.
func (s *session) judgeRestart(a answer, t step, w want) error {
	var wrong error
	reason, restored, before := "", true, s.model.died != nil && w.dies == ""
	if died := s.model.died; died != nil {
		reason, restored = "between two calls", died.restored
		s.model.died = nil
	}
	switch {
	case w.dies == "":
		s.model.finished(t.change)
	default:
		reason = w.dies
		restored, wrong = s.model.dies(a.record, w.lost != "")
	}
	if reason == "" {
		return errors.Join(
			same("interpreter_restarted", a.record.InterpreterRestarted, false),
			same("restart_reason", a.record.RestartReason, ""),
			same("restarted_before_run", a.record.RestartedBeforeRun, false),
			same("state_restored is absent", a.record.StateRestored == nil, true),
			s.judgeRecoverable(a),
		)
	}
	err := errors.Join(
		wrong,
		same("interpreter_restarted", a.record.InterpreterRestarted, true),
		same("restarted_before_run", a.record.RestartedBeforeRun, before),
		s.judgeReason(a.record.RestartReason, reason),
		sameFlag("state_restored", a.record.StateRestored, restored),
		s.judgeRecoverable(a),
	)
	if notes := strings.Join(a.record.Notes, "\n"); !restored && s.model.forks {
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

func (s *session) judgeRecoverable(a answer) error {
	return sameFlag("recoverable", a.record.Recoverable, s.model.recoverable())
}

func same[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s is %s, not %s", what, shorten(fmt.Sprintf("%#v", got)), shorten(fmt.Sprintf("%#v", want)))
}

func sameFlag(what string, got *bool, want bool) error {
	if got == nil {
		return fmt.Errorf("%s is absent, not %t", what, want)
	}
	return same(what, *got, want)
}

func contains(what, got, part string) error {
	if strings.Contains(got, part) {
		return nil
	}
	return fmt.Errorf("%s is %q, which doesn't have %q", what, got, part)
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

func sameAdded(got *changes, want []string) error {
	switch {
	case want == nil:
		return nil
	case got == nil:
		return fmt.Errorf("variables is absent; %v should have been added", want)
	case !slices.Equal(got.Added, want) || len(got.Changed)+len(got.Removed) > 0:
		return fmt.Errorf("variables is %+v; only %v should have been added", *got, want)
	}
	return nil
}

func hasChanged(got *changes, want []string) error {
	for _, name := range want {
		if got == nil || !slices.Contains(got.Changed, name) {
			return fmt.Errorf("variables is %+v; %s should be among the changed", got, name)
		}
	}
	return nil
}

// uncut is how many characters of output an answer has whole in any case.
const uncut = 2_600

// sameOutput compares stdout. Of long output the answer has head and tail, with
// a marker between that counts what is missing, and names a file with all.
func sameOutput(got record, want string) error {
	if got.StdoutTruncated == 0 {
		return same("stdout", got.Stdout, want)
	}
	marker := "\n[" + strconv.Itoa(got.StdoutTruncated) + " characters truncated]\n"
	head, tail, found := strings.Cut(got.Stdout, marker)
	switch {
	case len(want) < uncut:
		return fmt.Errorf("stdout has %d characters and was cut", len(want))
	case !found:
		return fmt.Errorf("stdout has no marker for %d missing characters: %s", got.StdoutTruncated, shorten(got.Stdout))
	case !strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail):
		return fmt.Errorf("stdout begins or ends otherwise: %s", shorten(got.Stdout))
	case len(head)+len(tail)+got.StdoutTruncated != len(want):
		return fmt.Errorf("stdout has %d + %d and misses %d characters, of %d", len(head), len(tail), got.StdoutTruncated, len(want))
	}
	whole, err := wholeOutput(got)
	if err != nil {
		return err
	}
	return same("the whole of stdout", whole, want)
}

func wholeOutput(r record) (string, error) {
	text, err := os.ReadFile(r.OutputPath)
	return string(text), err
}

// shorten keeps the ends of a long text for a message.
func shorten(text string) string {
	const most = 1500
	if len(text) <= most {
		return text
	}
	return text[:most/2] + " … " + text[len(text)-most/2:]
}
