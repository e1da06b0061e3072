package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// session is one interpreter of the server's with the model of what it must
// be. One goroutine drives it; only busy queues make calls at the same time.
type session struct {
	*life
	link    *link // over the network its own; on stdio all share one
	random  *mathrand.Rand
	id      string // "" is the default one before its first call
	workdir string // on stdio all sessions of a server work in it
	prefix  string // of the names of its own files there
	model   model
	trail   trail
	marks   int    // files made so far to tell us that code runs
	given   int    // calls given up
	came    string // which of them have had their effect all the same
}

func (l *life) newSession(random *mathrand.Rand, kind kind) *session {
	s := &session{life: l, random: random, prefix: rand.Text()[:10] + "_", link: l.server.stdio, model: newModel(l.forks(), l.history)}
	s.model.burst = l.burst
	if kind != stdio {
		s.link = &link{kind: kind} // to be connected
	}
	return s
}

// guard returns the fault that f has met, with the session's last calls, unless the
// server was ended under it.
func (s *session) guard(f func()) error {
	if err := s.unlessOver(guard(f)); err != nil {
		return fmt.Errorf("interpreter %s over %s, after %d executions: %w\n%s", s.id, s.link.kind, s.model.executions, err, &s.trail)
	}
	return nil
}

// file is the name of a file of the session's own in the directory that all share,
// those of servers before among them.
func (s *session) file(name string) string { return s.prefix + name }

func (s *session) path(name string) string { return filepath.Join(s.workdir, s.file(name)) }

// eventually is like that of all, and ends with the server.
func (s *session) eventually(long time.Duration, lacking func() error) {
	eventually(s.ctx, long, func() error {
		if s.over.Load() {
			fail(errOver)
		}
		return lacking()
	})
}

// send makes a call and keeps it and its answer in the trail.
func (s *session) send(tool string, args arguments) answer {
	a, err := s.try(s.ctx, tool, args)
	if err != nil {
		failf("%s was not answered: %w", tool, err)
	}
	return a
}

func (s *session) try(ctx context.Context, tool string, args arguments) (answer, error) {
	s.counts.add("calls", 1)
	s.trail.add("→", tool+" "+string(must(json.Marshal(args))))
	a, err := s.link.call(ctx, tool, args)
	if s.over.Load() {
		return a, errOver
	}
	switch {
	case err != nil:
		s.trail.add("←", err.Error())
	case a.record.Interpreters != nil: // most of them are others'
		s.trail.add("←", a.text)
	default:
		s.trail.add("←", fmt.Sprintf("refused %t: %s", a.refused, a.text), string(must(json.Marshal(a.record))))
	}
	return a, err
}

// manage calls manage_interpreters for this session, which must not be refused.
func (s *session) manage(operation string, more arguments) answer {
	a := s.tryManage(operation, more)
	if a.refused {
		failf("%s was refused: %s", operation, a.text)
	}
	return a
}

func (s *session) tryManage(operation string, more arguments) answer {
	args := arguments{"operation": operation, "interpreter_id": s.id}
	maps.Copy(args, more)
	return s.send(manageTool, args)
}

// refused makes an operation that must be refused with a reason that has word in it.
func (s *session) refused(operation, word string) {
	a := s.tryManage(operation, nil)
	if !a.refused {
		failf("%s was done; it should have been refused because of %q", operation, word)
	}
	fail(contains("the refusal of "+operation, strings.ToLower(a.text), word))
}

// listed returns what the list says of this session.
func (s *session) listed() listing {
	for _, l := range s.manage("list", nil).record.Interpreters {
		if l.ID == s.id {
			return l
		}
	}
	failf("the list doesn't have the interpreter")
	return listing{}
}

// open makes the session, by an operation or, when it is to be the default
// one, by its first call.
func (s *session) open(byDefault bool) {
	if s.link.client == nil {
		s.link = s.server.connect(s.link.kind)
	}
	if byDefault {
		s.ok(step{code: "pass"})
	} else {
		s.id = s.manage("create", nil).record.InterpreterID
	}
	l := s.listed()
	s.workdir = l.Workdir
	fail(same("default in the list", l.Default, byDefault))
	if s.network {
		s.came = "[]"
		s.ok(step{code: "came = []"})
	}
}

// reference is what the server's Python does when it is not the server's.
type reference struct {
	Has   map[string]bool       // libraries
	Draws map[string][][]uint32 // of a module's generator, by seed
}

const referenceCode = `
import importlib.util, json, random
has = {name: importlib.util.find_spec(name) is not None for name in ("numpy", "pandas", "matplotlib")}
draws = {"random": [[r.getrandbits(32) for _ in range(1500)] for r in map(random.Random, range(9))]}
if has["numpy"]:
    from numpy.random import RandomState
    draws["np.random"] = [[int.from_bytes(r.bytes(4), "little") for _ in range(1500)] for r in map(RandomState, range(9))]
print(json.dumps({"has": has, "draws": draws}))
`

// lookAround asks which Python runs the sessions, and that one what it has.
func (s *session) lookAround() {
	a := s.send(runTool, s.arguments(step{code: "import sys; print(sys.executable)"}, nil))
	text, err := exec.CommandContext(s.ctx, strings.TrimSpace(a.record.Stdout), "-c", referenceCode).Output()
	var r reference
	fail(err, json.Unmarshal(text, &r))
	s.soak.python = &r
	s.model.executions++
}

// drive has a session act for a while.
func (s *session) drive() {
	for range 5 + s.random.IntN(60) {
		if !s.winding.Load() {
			s.act()
		}
	}
}

// act does one operation and reads all back.
func (s *session) act() {
	all := operations()
	o := all[weighted(s.random, len(all), func(i int) int { return all[i].weightFor(s) })]
	o.do(s)
	s.check()
	s.counts.add(o.name, 1)
}

// stay works now and then: somebody must be there for others to intrude on.
func (s *session) stay() {
	for !s.winding.Load() {
		s.work()
		s.check()
		pause(s.ctx, abandonedTime/10)
	}
}

// check reads all variables and files back.
func (s *session) check() {
	names := sortedKeys(s.model.now.variables)
	asked, want := []string{`sorted(n for n in list(globals()) if n.startswith("v_"))`}, []any{append([]string{}, names...)}
	for _, name := range names {
		v := s.model.now.variables[name]
		asked, want = append(asked, expand(probes[v.kind], name, 0, 0)), append(want, v.want)
	}
	code := `print(__import__("json").dumps([` + strings.Join(asked, ",\n") + `], separators=(",", ":")))`
	s.ok(step{code: code, stdout: string(must(json.Marshal(want))) + "\n"})
	s.checkFiles()
}

// checkFiles compares the session's files, which are read without its help.
func (s *session) checkFiles() {
	paths, _ := filepath.Glob(s.path("f_*")) // fails on bad patterns only
	if len(paths) != len(s.model.files) {
		failf("the files are %v, not %v", paths, sortedKeys(s.model.files))
	}
	for name, want := range s.model.files {
		got, err := os.ReadFile(filepath.Join(s.workdir, name))
		fail(err, same("the file "+name, string(got), want))
	}
}

// remove deletes the session. On stdio its files are the user's, and stay.
func (s *session) remove() {
	s.manage("delete", nil)
	if !s.network {
		s.checkFiles()
		return
	}
	s.link.hangUp(false)
	s.counts.add("clients who left", 1)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var errNotYet = errors.New("it has not come as far")
