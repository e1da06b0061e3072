package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"understudy/sessions/workdir"
)

func branch(t *testing.T, m *Manager, id string) Listing {
	t.Helper()
	l, err := m.Branch(t.Context(), me, id)
	must(t, err)
	return l
}

func runIn(t *testing.T, m *Manager, id, code string) *Result {
	t.Helper()
	return mustRun(t, m, RunRequest{Code: code, InterpreterID: id})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func TestABranchGoesItsOwnWay(t *testing.T) {
	m := surviving(t, remembers(), nil)
	run(t, m, "a")
	parent := list(t, m)[0]
	write(t, parent.Workdir, "data", "1")
	child := branch(t, m, "")
	expect(t, child.Parent == parent.ID && !child.Default && child.Workdir != parent.Workdir && slices.Equal(child.Notes, []string{"a note of waking"}), "%+v", child)
	text, err := os.ReadFile(filepath.Join(child.Workdir, "data"))
	expect(t, string(text) == "1", "%q %v", text, err)
	wantRun(t, runIn(t, m, child.ID, "b"), 2, "a b")
	wantRun(t, runIn(t, m, parent.ID, "c"), 2, "a c")
	grandchild := branch(t, m, child.ID)
	expect(t, grandchild.Parent == child.ID, "%+v", grandchild)
	wantRun(t, runIn(t, m, grandchild.ID, "d"), 3, "a b d")
	remove(t, m, child.ID)
	for id, want := range map[string]string{parent.ID: "a c e", grandchild.ID: "a b d e"} {
		wantState(t, runIn(t, m, id, "crash"), "restored", true)
		wantOut(t, runIn(t, m, id, "e"), want)
	}
}

func TestABranchHasItsFirstCheckpointSoon(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		run(t, m, "a")
		time.Sleep(time.Second) // so that the branch is listed after it
		child := branch(t, m, "")
		expect(t, child.Recoverable && child.Obstacle == "", "%+v", child)
		l := list(t, m)[1]
		expect(t, l.ID == child.ID && l.Recoverable, "%+v", l)
		wantState(t, runIn(t, m, child.ID, "crash"), "restored", true)
		wantOut(t, runIn(t, m, child.ID, "b"), "a b")
		_, err := m.Undo(t.Context(), me, child.ID) // to where it was branched
		expect(t, err == nil, "%+v", err)
		wantCode(t, errOf(m.Undo(t.Context(), me, child.ID)), CodeInvalid, "nothing has run since", "branched")
	})
}

func TestABranchIsRefusedWithAReason(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeNotFound)
		run(t, m, "2 threads")
		list(t, m)
		for reason, remedy := range map[string]string{
			"2 Python threads are running":               "end these threads (shut down what started them) and try again, or use",
			"it holds too much (--checkpoint-memory)":    "free memory (del what is not needed any more) and try again, or use",
			"1 native thread is running":                 "use",
			"it waits for what another process is doing": "try again, or use",
		} {
			f.forking = func(context.Context, *fakeWorker, Purpose) error { return &ForkError{Reason: reason} }
			err := errOf(m.Branch(t.Context(), me, ""))
			wantCode(t, err, CodeStart, "can't be branched now: "+reason+"; "+remedy+" operation \"create\"")
		}
		mustRun(t, m, RunRequest{Code: "hang", Wait: time.Second})
		wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeBusy, "execution 2 has been running for 1 second", "it was not branched", "wait", "interrupt")
		same(t, 1, len(list(t, m)))
	})
}

// TestAFirstCopyThatHangsDelaysNoBranch has the answer say how it stands.
func TestAFirstCopyThatHangsDelaysNoBranch(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		run(t, m, "a")
		list(t, m)
		f.forking = func(ctx context.Context, _ *fakeWorker, purpose Purpose) error {
			if purpose == ToStandBy {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		began := time.Now()
		child := branch(t, m, "")
		took := time.Since(began)
		expect(t, took == firstCopyPatience && !child.Recoverable && child.Obstacle == "their copy is still being made", "after %s: %+v", took, child)
	})
}

// TestADeathThatABranchFinds is one that nobody had noticed before.
func TestADeathThatABranchFinds(t *testing.T) {
	m, f := survivors(t, nil)
	parent := run(t, m, "a").InterpreterID
	list(t, m)
	f.forking = func(_ context.Context, w *fakeWorker, purpose Purpose) error {
		if purpose == ToBranch && len(f.started()) == 1 {
			w.die("killed by SIGKILL")
			return w.crash
		}
		return nil
	}
	child := branch(t, m, "")
	expect(t, strings.Contains(strings.Join(child.Notes, "\n"), "of "+parent+": the interpreter's process ended between two calls: killed by SIGKILL; its variables are back"),
		"%+v", child)
	wantOut(t, runIn(t, m, child.ID, "b"), "a b")
	wantState(t, runIn(t, m, parent, "b"), "restored", true)
}

func TestABranchOfASharedDirectoryCopiesNothing(t *testing.T) {
	shared := t.TempDir()
	m := surviving(t, remembers(), func(o *Options) { o.Workdir = shared })
	write(t, shared, "data", "1")
	run(t, m, "a")
	child := branch(t, m, "")
	expect(t, child.Workdir == shared && strings.Contains(strings.Join(child.Notes, "\n"), "share its files"), "%+v", child)
}

func TestABranchOfASessionThatNeverRanIsAFreshOne(t *testing.T) {
	f := remembers()
	broken := errors.New("no python")
	start := f.start
	f.start = func(Spec) (*fakeWorker, error) { return nil, broken }
	m := surviving(t, f, nil)
	wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "a"})), CodeStart, "no python")
	f.start = start
	parent := list(t, m)[0]
	write(t, parent.Workdir, "data", "1")
	child := branch(t, m, "")
	expect(t, child.Parent == parent.ID && child.PID != 0 && child.Recoverable, "%+v", child)
	wantRun(t, runIn(t, m, child.ID, "b"), 1, "b")
}

func TestABranchOfADeadInterpreter(t *testing.T) {
	m, f := survivors(t, nil)
	parent := run(t, m, "a").InterpreterID
	kill(t, m, f)
	child := branch(t, m, "")
	r := runIn(t, m, child.ID, "b")
	expect(t, r.Stdout == "a b" && !r.InterpreterRestarted, "%+v", r)
	r = runIn(t, m, parent, "1 threads")
	wantState(t, r, "restored", false)
	list(t, m)
	f.started()[1].die("killed by SIGKILL") // the one that was woken, and has no copy
	child = branch(t, m, parent)
	expect(t, strings.Contains(strings.Join(child.Notes, "\n"), "of "+parent+": the interpreter's process ended between two calls: killed by SIGKILL; the variables are as they were before execution 2; execution 2 is lost"),
		"%+v", child)
	wantOut(t, runIn(t, m, child.ID, "c"), "a c")
	r = runIn(t, m, parent, "2 threads")
	wantState(t, r, "lost", false)
	runIn(t, m, parent, "3 threads")
	list(t, m)
	f.started()[3].die("killed by SIGKILL") // woken for the older state: none that can be copied is left
	child = branch(t, m, parent)
	expect(t, strings.Contains(strings.Join(child.Notes, "\n"), "has no variables: those of "+parent+" are lost"), "%+v", child)
}

func TestABranchThatFailsLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		wake func(context.Context, *fakeUnderstudy) error
		want string
	}{
		"wake fails": {func(context.Context, *fakeUnderstudy) error { return errors.New("its pipes are gone") }, "its pipes are gone"},
		"wake hangs": {wakesNever, "could not be branched"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := remembers()
				var root string
				m := surviving(t, f, func(o *Options) { root, o.KeepWorkdirs = o.WorkdirRoot, true })
				run(t, m, "a")
				list(t, m)
				f.waking = test.wake
				wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeStart, test.want)
				f.waking = nil
				wantOut(t, run(t, m, "b"), "a b")
				same(t, 1, len(list(t, m)))
				dirs, err := os.ReadDir(root)
				expect(t, err == nil && len(dirs) == 2, "%d directories, %v", len(dirs), err)
			})
		})
	}
}

func TestDeleteOfABranchThatIsBeingMade(t *testing.T) {
	survive(t, remembers(), nil, func(t *testing.T, m *Manager, f *fakeStarter) {
		run(t, m, "a")
		list(t, m)
		f.waking = wakesNever
		refusals := make(chan error, 1)
		go func() {
			_, err := m.Branch(t.Context(), me, "")
			refusals <- err
		}()
		synctest.Wait()
		began := time.Now()
		m.EndClient(t.Context(), me)
		err := <-refusals
		expect(t, err != nil, "it was made")
		wantTook(t, began, 0)
	})
}

func TestBranchesGoOnAtTheSameTime(t *testing.T) {
	m := surviving(t, remembers(), func(o *Options) { o.MaxSessions, o.Queue = 20, 20 })
	parent := run(t, m, "a").InterpreterID
	answers := make(chan string, 10)
	for range cap(answers) {
		go func() {
			l, err := m.Branch(t.Context(), me, parent)
			if err != nil {
				answers <- err.Error()
				return
			}
			r, err := m.Run(t.Context(), me, RunRequest{Code: "b", InterpreterID: l.ID})
			if err != nil {
				answers <- err.Error()
				return
			}
			answers <- r.Stdout
		}()
	}
	for range cap(answers) {
		same(t, "a b", <-answers)
	}
}

func TestABranchNamesWhatDidNotComeAlong(t *testing.T) {
	m := surviving(t, remembers(), nil)
	run(t, m, "a")
	if err := makeFIFO(filepath.Join(list(t, m)[0].Workdir, "pipe")); err != nil {
		t.Skip(err)
	}
	child := branch(t, m, "")
	got := strings.Join(child.Notes, "\n")
	expect(t, strings.Contains(got, "1 special or unreadable file of the working directory can't be copied and did not come along: pipe"), "%+v", got)
}

func TestSomeOf(t *testing.T) {
	names := slices.Repeat([]string{"a"}, 7)
	same(t, "a, a, a, a, a and 2 more", someOf(names, 5))
	same(t, "a, a", someOf(names[:2], 5))
}

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

func TestMissingNameIsToldWhereItIs(t *testing.T) {
	m := newTestManager(t, python(), nil)
	create(t, m, anna, "data")
	create(t, m, bert, "data")
	runAs(t, m, anna, RunRequest{Code: "frame = 1", InterpreterID: "data"})
	runAs(t, m, bert, RunRequest{Code: "secret = 1", InterpreterID: "data"})

	want := `frame is defined in interpreter data; pass interpreter_id "data" to use it`
	got := notes(runAs(t, m, anna, RunRequest{Code: "frame"}))
	expect(t, got == want, "the note is %q, want %q", got, want)
	for what, r := range map[string]*Result{
		"another client's":  runAs(t, m, anna, RunRequest{Code: "secret"}),
		"nobody's":          runAs(t, m, anna, RunRequest{Code: "nowhere"}),
		"the session's own": runAs(t, m, anna, RunRequest{Code: "frame", InterpreterID: "data"}),
	} {
		note := notes(r)
		expect(t, note == "", "%s: %s", what, note)
	}

	runAs(t, m, anna, RunRequest{Code: "del frame", InterpreterID: "data"})
	note := notes(runAs(t, m, anna, RunRequest{Code: "frame"}))
	expect(t, note == "", "it is deleted: %s", note)
}

func TestNamesGoWithTheirState(t *testing.T) {
	m := newTestManager(t, python(), nil)
	m.options.Starter.(*fakeStarter).forks = true
	m.options.History = 3
	create(t, m, anna, "data")
	defined := func(name string) bool {
		return notes(runAs(t, m, anna, RunRequest{Code: name})) != ""
	}
	runAs(t, m, anna, RunRequest{Code: "a = 1", InterpreterID: "data"})
	runAs(t, m, anna, RunRequest{Code: "b = 1", InterpreterID: "data"})
	must(t, errOf(m.Branch(t.Context(), anna, "data")))
	must(t, errOf(m.Undo(t.Context(), anna, "data")))
	note := notes(runAs(t, m, anna, RunRequest{Code: "b"}))
	expect(t, strings.Contains(note, "in interpreter py1;") && !strings.Contains(note, "data"), "b is undone in data and lives in its branch: %q", note)
	runAs(t, m, anna, RunRequest{Code: "c = 1", InterpreterID: "data"})
	note = notes(runAs(t, m, anna, RunRequest{Code: "b"}))
	expect(t, !strings.Contains(note, "data"), "a later execution does not bring it back: %q", note)
	must(t, errOf(m.Restart(t.Context(), anna, "data")))
	expect(t, !defined("c"), "c is gone with the restart")
	expect(t, defined("a"), "a lives in the branch")
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
	expect(t, len(c.names) <= mostDefined, "%d names are kept", len(c.names))
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
	first := runAs(t, m, "session:1", RunRequest{Code: "frame = 1"}).InterpreterID
	m.Leave(t.Context(), "session:1", true)
	second := runAs(t, m, "session:2", RunRequest{Code: "frame"})
	if got, want := notes(second), "frame is defined in interpreter "+first; !strings.Contains(got, want) {
		t.Errorf("the note is %q, want %q", got, want)
	}
	needsHandle = true
	if note := notes(runAs(t, m, "session:2", RunRequest{Code: "frame", InterpreterID: second.InterpreterID})); note != "" {
		t.Errorf("one process may be many people: %s", note)
	}
	needsHandle = false
	for client, where := range map[Client]string{"session:3": "process:8.1", "session:4": "address:192.0.2.1", "session:5": "", anna: "process:7.1"} {
		place = where
		note := notes(runAs(t, m, client, RunRequest{Code: "frame"}))
		expect(t, note == "", "%s at %q: %s", client, where, note)
	}
}

func TestWithoutWallsAHomeIsMadeWhenItIsAskedFor(t *testing.T) {
	var root string
	m := surviving(t, remembers(), func(o *Options) { root = o.WorkdirRoot })
	run(t, m, "a")
	l := list(t, m)[0]
	wantEntries(t, root, l.ID, l.ID+".files")
	s := m.sessions[l.ID]
	if spec := s.spec(); spec.Group != l.ID || spec.Home != "" {
		t.Errorf("%+v", spec)
	}
	home, err := s.group.Home()
	expect(t, err == nil && home == filepath.Join(root, "home-"+l.ID) && s.spec().Home == home, "%s %v", home, err)
	child := m.sessions[branch(t, m, "").ID]
	again, err := child.group.Home()
	expect(t, again == home && err == nil, "%s %v", again, err)
	remove(t, m, l.ID)
	wantEntries(t, root, child.id, child.id+".files", "home-"+l.ID)
	remove(t, m, child.id)
	wantEntries(t, root)
	_, err = child.group.Home()
	expect(t, errors.Is(err, workdir.ErrEnded), "%+v", err)
	expect(t, !strings.Contains(home, child.id), "%+v", home)
}

func TestBranchesShareTheDiskLimit(t *testing.T) {
	m, _, root := walled(t, func(o *Options) { o.DiskLimit = 3 << 20 })
	run(t, m, "a")
	parent := list(t, m)[0]
	write(t, parent.Workdir, "data", strings.Repeat("x", 1<<20))
	child := branch(t, m, parent.ID)
	wantCode(t, errOf(m.Branch(t.Context(), me, child.ID)), CodeLimit, "limit of 3 MiB (--disk-limit)", "delete files below "+child.Workdir)
	wantEntries(t, filepath.Join(root, "home-"+parent.ID), "tmp", "packages", parent.ID, parent.ID+".files", child.ID, child.ID+".files")
	remove(t, m, parent.ID)
	branch(t, m, child.ID)
}
