package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// session is one interpreter of the server's with the model of what it must
// be. One goroutine drives it; only busy queues make calls at the same time.
type session struct {
	*life
	random  *mathrand.Rand
	id      string // "" is the default one before its first call
	workdir string // all sessions of a server work in it
	prefix  string // of the names of its own files there; see file
	model   model
	trail   trail
	marks   int // files made so far to tell us that code runs
}

// file is the name of a file of the session's own in the directory that all share,
// those of servers before among them.
func (s *session) file(name string) string {
	if s.prefix == "" {
		s.prefix = rand.Text()[:10] + "_"
	}
	return s.prefix + name
}

// errOver ends the drivers when the server was left or killed under them.
var errOver = errors.New("the server has been ended")

// errDeleted ends a driver whose session was deleted.
var errDeleted = errors.New("the session has been deleted")

// mismatch is an answer that the model didn't expect.
type mismatch struct {
	session *session
	err     error
}

func (m *mismatch) Error() string {
	return fmt.Sprintf("interpreter %s, after %d executions: %v\n%s", m.session.id, m.session.model.executions, m.err, &m.session.trail)
}

func (m *mismatch) Unwrap() error { return m.err }

// wrong reports a mismatch.
func (s *session) wrong(format string, args ...any) error {
	return s.blame(fmt.Errorf(format, args...))
}

func (s *session) blame(err error) error {
	var known *mismatch
	if err != nil && s.over.Load() { // whatever is wrong came of that
		return errOver
	}
	if err == nil || errors.Is(err, errOver) || errors.Is(err, errDeleted) || errors.As(err, &known) {
		return err
	}
	return &mismatch{s, err}
}

// send makes a call and keeps it and its answer in the trail.
func (s *session) send(ctx context.Context, tool string, args arguments) (answer, error) {
	s.counts.add("calls", 1)
	entry := s.trail.sent(tool, args)
	a, err := s.server.call(ctx, tool, args)
	if s.over.Load() {
		return a, errOver
	}
	if err != nil {
		entry.failed(err)
		return a, s.wrong("%s was not answered: %w", tool, err)
	}
	entry.answered(a)
	return a, nil
}

// manage calls manage_interpreters for this session, which must not be refused.
func (s *session) manage(ctx context.Context, operation string, args arguments) (answer, error) {
	a, err := s.tryManage(ctx, operation, args)
	if err == nil && a.refused {
		err = s.wrong("%s was refused: %s", operation, a.text)
	}
	return a, err
}

func (s *session) tryManage(ctx context.Context, operation string, args arguments) (answer, error) {
	if args == nil {
		args = arguments{}
	}
	args["operation"], args["interpreter_id"] = operation, s.id
	return s.send(ctx, manageTool, args)
}

// refused makes an operation that must be refused with a reason that has word in it.
func (s *session) refused(ctx context.Context, operation, word string) error {
	a, err := s.tryManage(ctx, operation, nil)
	switch {
	case err != nil:
		return err
	case !a.refused:
		return s.wrong("%s was done; it should have been refused because of %q", operation, word)
	case !strings.Contains(strings.ToLower(a.text), word):
		return s.wrong("the refusal of %s doesn't speak of %q: %s", operation, word, a.text)
	}
	return nil
}

// listed returns what the list says of this session.
func (s *session) listed(ctx context.Context) (listing, error) {
	a, err := s.manage(ctx, "list", nil)
	if err != nil {
		return listing{}, err
	}
	for _, l := range a.record.Interpreters {
		if l.ID == s.id {
			return l, nil
		}
	}
	return listing{}, s.wrong("the list doesn't have the interpreter")
}

// open makes the session, by an operation or, when it is to be the default
// one, by its first call.
func (s *session) open(ctx context.Context, byDefault bool) error {
	if byDefault {
		if _, err := s.run(ctx, step{code: "pass"}, want{status: "ok"}); err != nil {
			return err
		}
	} else {
		a, err := s.manage(ctx, "create", nil)
		if err != nil {
			return err
		}
		s.id = a.record.InterpreterID
	}
	l, err := s.listed(ctx)
	s.workdir = l.Workdir
	if err == nil && l.Default != byDefault {
		err = s.wrong("default is %t in the list", l.Default)
	}
	return err
}

// check reads all variables and files back.
func (s *session) check(ctx context.Context) error {
	names, probes := []string{}, []string{`sorted(n for n in list(globals()) if n.startswith("v_"))`}
	for _, name := range sortedKeys(s.model.now.variables) {
		names = append(names, name)
		probes = append(probes, s.model.now.variables[name].probe(name))
	}
	code := `print(__import__("json").dumps([` + strings.Join(probes, ",\n") + `], separators=(",", ":")))`
	want := []any{names}
	for _, name := range names {
		want = append(want, s.model.now.variables[name].want())
	}
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := s.ok(ctx, step{code: code, stdout: string(text) + "\n"}); err != nil {
		return err
	}
	return s.checkFiles()
}

// checkFiles compares the session's files, which are read without its help.
func (s *session) checkFiles() error {
	paths, _ := filepath.Glob(filepath.Join(s.workdir, s.file("f_*"))) // fails on bad patterns only
	if len(paths) != len(s.model.files) {
		return s.wrong("the files are %v, not %v", paths, sortedKeys(s.model.files))
	}
	for name, want := range s.model.files {
		got, err := os.ReadFile(filepath.Join(s.workdir, name))
		if err != nil || string(got) != want {
			return s.wrong("the file %s holds %q (%v), not %q", name, got, err, want)
		}
	}
	return nil
}

// remove deletes the session.
func (s *session) remove(ctx context.Context) error {
	if _, err := s.manage(ctx, "delete", nil); err != nil {
		return err
	}
	return s.checkFiles() // they are the user's, and stay
}

// pick returns one of the choices.
func pick[T any](random *mathrand.Rand, choices ...T) T { return choices[random.IntN(len(choices))] }
