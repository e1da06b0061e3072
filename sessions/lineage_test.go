package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// diary is a Recorder that writes down what it is told, in lines like these:
//
//	A stands A1             interpreter A is in the state that its execution 1 left
//	B stands A1, of A at A1 likewise, a branch
//	A ended A1              the last state that it had
//	A2 begins A1 A1         execution 2 begins: parent, follows
//	A2 A1 A1 A2             it is recorded: parent, follows, present
//
// Interpreters are called A, B, C as they are made; "-" is the state before anything ran.
type diary struct {
	begin  func(context.Context, Entry) error // nil: all may begin
	record func(Entry) (*TrialReport, error)

	mu    sync.Mutex
	lines []string
	names map[string]string
	last  []Entry // recorded
}

func (d *diary) write(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// name returns the letter of an interpreter. The caller holds mu.
func (d *diary) name(id string) string {
	if d.names == nil {
		d.names = map[string]string{}
	}
	if d.names[id] == "" {
		d.names[id] = string(rune('A' + len(d.names)))
	}
	return d.names[id]
}

func (d *diary) place(p StateRef) string {
	if p == (StateRef{}) {
		return "-"
	}
	return d.name(p.InterpreterID) + fmt.Sprint(p.Execution)
}

func (d *diary) Begin(ctx context.Context, e Entry) error {
	d.mu.Lock()
	d.write("%s%d begins %s %s", d.name(e.InterpreterID), e.Execution, d.place(e.Parent), d.place(e.Follows))
	d.mu.Unlock()
	if d.begin != nil {
		return d.begin(ctx, e)
	}
	return nil
}

func (d *diary) Record(_ context.Context, e Entry) (*TrialReport, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write("%s%d %s %s %s", d.name(e.InterpreterID), e.Execution, d.place(e.Parent), d.place(e.Follows), d.place(e.Present))
	d.last = append(d.last, e)
	if d.record != nil {
		return d.record(e)
	}
	return nil, nil
}

func (d *diary) SaveSession(_ context.Context, s SessionState) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := d.name(s.InterpreterID) + " stands " + d.place(s.Present)
	if !s.Ended.IsZero() {
		line = d.name(s.InterpreterID) + " ended " + d.place(s.Present)
	}
	if s.Parent != "" {
		line += ", of " + d.name(s.Parent) + " at " + d.place(s.Origin)
	}
	d.lines = append(d.lines, line)
	return nil
}

func (d *diary) told() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lines
}

// id returns the id of the interpreter of that letter, "" if there is none.
func (d *diary) id(letter string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, name := range d.names {
		if name == letter {
			return id
		}
	}
	return ""
}

// stage is where the steps of a lineage are played.
type stage struct {
	*testing.T
	manager *Manager
	starter *fakeStarter
	diary   *diary
}

func (s *stage) plays(steps ...string) {
	s.Helper()
	for _, step := range steps {
		s.play(step)
	}
}

// play does a step: the letter of an interpreter, and what is done with it, which
// is the code to run unless it is one of these.
func (s *stage) play(step string) {
	s.Helper()
	letter, what, _ := strings.Cut(step, " ")
	what, refused := strings.CutSuffix(what, " refused")
	id := s.diary.id(letter)
	var err error
	switch what {
	case "create":
		_, err = s.manager.Create(s.Context(), me, CreateRequest{})
	case "branch":
		_, err = s.manager.Branch(s.Context(), me, id)
	case "undo":
		_, err = s.manager.Undo(s.Context(), me, id)
	case "restart":
		_, err = s.manager.Restart(s.Context(), me, id)
	case "delete":
		err = s.manager.Delete(s.Context(), me, id)
	case "dies":
		list(s.T, s.manager) // the copies are made by then
		s.workerOf(id).die("killed by SIGKILL")
	case "hangs":
		_, err = s.manager.Run(s.Context(), me, RunRequest{Code: "hang", InterpreterID: id, Wait: -1})
	default:
		code, reset := strings.CutPrefix(what, "reset ")
		_, err = s.manager.Run(s.Context(), me, RunRequest{Code: code, InterpreterID: id, Reset: reset})
	}
	if (err != nil) != refused {
		s.Fatalf("%s: %v", step, err)
	}
}

func (s *stage) workerOf(id string) (found *fakeWorker) {
	for _, w := range s.starter.started() {
		if w.spec.InterpreterID == id {
			found = w
		}
	}
	return found
}

type lineageCase struct {
	name  string
	steps []string
	want  []string // after the first line, which is "A stands -"
	after func(*Options)
}

func rerunning(o *Options) { o.RerunAfterCrash = true }

func uncopied(o *Options) { o.Starter.(*fakeStarter).forks = false }

func unwaking(o *Options) { o.Starter.(*fakeStarter).waking = failsBeyond(0) }

// dyingOfABranch has the first worker die as it is branched.
func dyingOfABranch(o *Options) {
	died := false
	o.Starter.(*fakeStarter).forking = func(_ context.Context, w *fakeWorker, purpose Purpose) error {
		if purpose != ToBranch || died {
			return nil
		}
		died = true
		w.die("killed by SIGKILL")
		return w.crash
	}
}

var lineages = []lineageCase{
	{"one after another", []string{"A a", "A raise", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A3 A2 A2 A3"}, nil},

	{"a crash", []string{"A a", "A crash", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A1", "A3 A1 A2 A3"}, nil},
	{"two crashes", []string{"A a", "A crash", "A crash", "A b", "A c"}, []string{"A1 - - A1", "A2 A1 A1 A1", "A3 A1 A2 A1", "A4 A1 A3 A4", "A5 A4 A4 A5"}, nil},
	{"a crash first", []string{"A crash", "A b"}, []string{"A1 - - -", "A2 - A1 A2"}, nil},
	{"a crash to an older state", []string{"A a", "A threads", "A crash", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A3 A2 A2 A1", "A4 A1 A3 A4"}, nil},
	{"a crash that loses all", []string{"A threads", "A crash", "A b"}, []string{"A1 - - A1", "A2 A1 A1 -", "A3 - A2 A3"}, nil},

	{"run once more", []string{"A a", "A crash", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A1", "A3 A1 A2 A3"}, rerunning},
	{"run once more from an older state", []string{"A a", "A threads", "A crash", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A3 A1 A2 A1", "A4 A1 A3 A4"}, rerunning},
	{"run once more with success", []string{"A a", "A crash once", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A3 A2 A2 A3"}, rerunning},

	{"undo", []string{"A a", "A b", "A undo", "A c"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A stands A1", "A3 A1 A1 A3"}, nil},
	{"undo of the first", []string{"A a", "A undo", "A b"}, []string{"A1 - - A1", "A stands -", "A2 - - A2"}, nil},
	{"undo of a crash", []string{"A a", "A crash", "A undo", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A1", "A3 A1 A2 A3"}, nil},
	{"undo refused", []string{"A threads", "A crash", "A undo refused", "A b"}, []string{"A1 - - A1", "A2 A1 A1 -", "A3 - A2 A3"}, nil},

	{"restart", []string{"A a", "A restart", "A b"}, []string{"A1 - - A1", "A stands -", "A2 - - A2"}, nil},
	{"restart of nothing", []string{"A create", "A restart", "A a"}, []string{"A1 - - A1"}, nil},
	{"reset", []string{"A a", "A reset b"}, []string{"A1 - - A1", "A stands -", "A2 - - A2"}, nil},
	{"reset after a crash", []string{"A a", "A crash", "A reset b"}, []string{"A1 - - A1", "A2 A1 A1 A1", "A stands -", "A3 - - A3"}, nil},

	{"a death between two calls", []string{"A a", "A dies", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A2"}, nil},
	{"a death after a crash", []string{"A a", "A crash", "A dies", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A1", "A3 A1 A2 A3"}, nil},
	{"a death to an older state", []string{"A a", "A threads", "A dies", "A b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A stands A1", "A3 A1 A1 A3"}, nil},
	{"a death that loses all", []string{"A threads", "A dies", "A b"}, []string{"A1 - - A1", "A stands -", "A2 - - A2"}, nil},

	{"branch", []string{"A a", "A branch", "B b", "A c"}, []string{"A1 - - A1", "B stands A1, of A at A1", "B2 A1 A1 B2", "A2 A1 A1 A2"}, nil},
	{"branch of nothing", []string{"A create", "A branch", "B b"}, []string{"B stands -, of A at -", "B1 - - B1"}, nil},
	{"branch of a fresh branch", []string{"A a", "A branch", "B branch", "C c"}, []string{"A1 - - A1", "B stands A1, of A at A1", "C stands A1, of B at A1", "C2 A1 A1 C2"}, nil},
	{"branch of a branch", []string{"A a", "A branch", "B b", "B branch", "C c"}, []string{"A1 - - A1", "B stands A1, of A at A1", "B2 A1 A1 B2", "C stands B2, of B at B2", "C3 B2 B2 C3"}, nil},
	{"branch after undo", []string{"A a", "A b", "A undo", "A branch", "B c"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A stands A1", "B stands A1, of A at A1", "B3 A1 A1 B3"}, nil},
	{"branch after a crash", []string{"A a", "A crash", "A branch", "B b", "A c"}, []string{"A1 - - A1", "A2 A1 A1 A1", "B stands A1, of A at A1", "B3 A1 A1 B3", "A3 A1 A2 A3"}, nil},
	{"branch of what a crash lost", []string{"A threads", "A crash", "A branch", "B b"}, []string{"A1 - - A1", "A2 A1 A1 -", "B stands -, of A at -", "B3 - - B3"}, nil},
	{"branch after a death to an older state", []string{"A a", "A threads", "A dies", "A branch", "B b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A stands A1", "B stands A1, of A at A1", "B3 A1 A1 B3"}, nil},
	{"a crash in a fresh branch", []string{"A a", "A branch", "B crash", "B b"}, []string{"A1 - - A1", "B stands A1, of A at A1", "B2 A1 A1 A1", "B3 A1 B2 B3"}, nil},
	{"undo in a branch", []string{"A a", "A branch", "B b", "B undo", "B c"}, []string{"A1 - - A1", "B stands A1, of A at A1", "B2 A1 A1 B2", "B stands A1, of A at A1", "B3 A1 A1 B3"}, nil},
	{"restart of a branch", []string{"A a", "A branch", "B restart", "B b"}, []string{"A1 - - A1", "B stands A1, of A at A1", "B stands -, of A at A1", "B2 - - B2"}, nil},

	// Where nothing can be copied a crash loses all.
	{"without copies", []string{"A a", "A b", "A crash", "A c", "A dies", "A d"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A3 A2 A2 -", "A4 - A3 A4", "A stands -", "A5 - - A5"}, uncopied},
	{"a branch whose parent dies under it", []string{"A a", "A threads", "A branch", "B b"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A stands A1", "B stands A1, of A at A1", "B3 A1 A1 B3"}, dyingOfABranch},
	{"a branch that is not made", []string{"A a", "A branch refused"}, []string{"A1 - - A1"}, unwaking},
	// What runs leaves its interpreter's last state as it was before, and nothing for the next to follow.
	{"delete of what runs", []string{"A a", "A hangs", "A delete"}, []string{"A1 - - A1", "A2 begins A1 A1", "A2 A1 A1 A1", "A ended A1"}, nil},
	{"restart of what runs", []string{"A a", "A hangs", "A restart", "A b"}, []string{"A1 - - A1", "A2 begins A1 A1", "A2 A1 A1 -", "A3 - - A3"}, nil},

	{"delete", []string{"A a", "A b", "A delete"}, []string{"A1 - - A1", "A2 A1 A1 A2", "A ended A2"}, nil},
	{"delete of a fresh branch", []string{"A a", "A branch", "B delete"}, []string{"A1 - - A1", "B stands A1, of A at A1", "B ended A1, of A at A1"}, nil},
}

// TestLineage: which state each execution began with, which outcome the agent had
// before it, what it left, and when the state changed without one.
func TestLineage(t *testing.T) {
	for _, c := range lineages {
		t.Run(c.name, func(t *testing.T) {
			onStage(t, c.after, func(t *testing.T, s *stage) {
				s.plays(c.steps...)
				same(t, append([]string{"A stands -"}, c.want...), s.diary.told())
			})
		})
	}
}

// newStage makes a stage, in a bubble where its diary is compared: what takes a moment
// on a busy machine would be in it twice.
func newStage(t *testing.T, change func(*Options)) *stage {
	t.Helper()
	f, d := remembers(), &diary{}
	m := surviving(t, f, func(o *Options) {
		o.History, o.Recorder, o.Workdir = 3, d, t.TempDir()
		if change != nil {
			change(o)
		}
	})
	return &stage{t, m, f, d}
}

func onStage(t *testing.T, change func(*Options), test func(*testing.T, *stage)) {
	t.Helper()
	bubble(t, func(t *testing.T) { test(t, newStage(t, change)) })
}

// TestTheEndOfAllIsTold by Close, of sessions of nobody too.
func TestTheEndOfAllIsTold(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		r, err := s.manager.Run(t.Context(), Anonymous, RunRequest{Code: "a"})
		must(t, err)
		must(t, errOf(s.manager.Run(t.Context(), Anonymous, RunRequest{Code: "b", InterpreterID: r.InterpreterID})))
		s.manager.Close(t.Context())
		same(t, []string{"A stands -", "A1 - - A1", "A2 A1 A1 A2", "A ended A2"}, s.diary.told())
	})
}

// raising is a worker behind a wall whose code ends with an OSError-like exception: its
// class, its arguments and the last line of its traceback, separated by |.
func raising(wall *Wall) *fakeStarter {
	run := func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
		parts := strings.Split(r.Code, "|")
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(parts[1]), &args); err != nil {
			return Outcome{}, err
		}
		return Outcome{Exception: &Exception{Type: parts[0], Info: ExceptionInfo{Args: args}, Traceback: "Traceback…\n" + parts[2] + "\n"}}, nil
	}
	return &fakeStarter{start: func(Spec) (*fakeWorker, error) { return &fakeWorker{run: run, wall: wall}, nil }}
}

// TestTheWallExplainsItself: an agent is told when the sandbox is the likely cause, and
// only then.
func TestTheWallExplainsItself(t *testing.T) {
	const noNet, files, hosts = "the sandbox has no network", "the sandbox may be why", "to these hosts only: pypi.org;"
	closed, some, open := &Wall{Mode: "standard"}, &Wall{Mode: "standard", Network: []string{"pypi.org"}}, &Wall{Mode: "standard", Network: []string{NetworkAll}}
	for name, test := range map[string]struct {
		wall *Wall
		code string
		want string // "": no note
	}{
		"a name":            {closed, `gaierror|[-3, "Temporary failure in name resolution"]|socket.gaierror: [Errno -3] Temporary failure in name resolution`, noNet},
		"urllib":            {closed, `URLError|["…"]|urllib.error.URLError: <urlopen error [Errno -3]>`, noNet},
		"an address":        {closed, `OSError|[101, "Network is unreachable"]|OSError: [Errno 101] Network is unreachable`, noNet},
		"another host":      {some, `OSError|["Tunnel connection failed: 403 Forbidden"]|OSError: Tunnel connection failed: 403 Forbidden`, hosts},
		"an open network":   {open, `gaierror|[-3, "…"]|socket.gaierror: [Errno -3] …`, ""},
		"no wall":           {nil, `gaierror|[-3, "…"]|socket.gaierror: [Errno -3] …`, ""},
		"a write":           {closed, `OSError|[30, "Read-only file system"]|OSError: [Errno 30] Read-only file system: '/etc/x'`, files},
		"a file denied":     {closed, `PermissionError|[13, "Permission denied"]|PermissionError: [Errno 13] Permission denied: '/etc/shadow'`, files},
		"a file hidden":     {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: '/home/me/data.csv'`, files},
		"a file of its own": {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'`, ""},
		"one in /tmp":       {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a'`, ""},
		"one of the system": {closed, `FileNotFoundError|[2, "No such file or directory"]|FileNotFoundError: [Errno 2] No such file or directory: '/usr/bin/nothing'`, ""},
		"a signal":          {closed, `PermissionError|[1, "Operation not permitted"]|PermissionError: [Errno 1] Operation not permitted`, ""},
		"another error":     {closed, `ValueError|["a"]|ValueError: [Errno 2] a: '/home/x'`, ""},
		"no arguments":      {closed, `OSError|[]|OSError`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestManager(t, raising(test.wall), nil)
			r := run(t, m, test.code)
			notes := notes(r)
			expect(t, (test.want != "" || !strings.Contains(notes, "sandbox")) && strings.Contains(notes, test.want), "notes %q, want %q", r.Notes, test.want)
		})
	}
}

func TestListingTellsOfTheWall(t *testing.T) {
	wall := &Wall{Mode: "strict", Layers: []string{"landlock"}, Open: []string{"signals"}}
	m := newTestManager(t, raising(wall), nil)
	run(t, m, `ValueError|[]|ValueError`)
	all, err := m.List(t.Context(), me)
	expect(t, err == nil && len(all) == 1 && all[0].Sandbox != nil && all[0].Sandbox.Mode == "strict", "%+v %v", all, err)
}

// TestInitCodeThatFailsIsTold by the first result of each worker that it failed in, and
// by the list for as long as its state lives, also in copies and branches.
func TestInitCodeThatFailsIsTold(t *testing.T) {
	starter := tries()
	run := starter.start
	starter.start = func(spec Spec) (*fakeWorker, error) {
		w, err := run(spec)
		w.initError = "Traceback (most recent call last):\n  File \"<init>\", line 1, in <module>\nNameError: np\n"
		return w, err
	}
	m := newTestManager(t, starter, func(o *Options) { o.History = 1 })
	told := func(r RunRequest) bool {
		return slices.ContainsFunc(mustRun(t, m, r).Notes, func(note string) bool { return strings.HasSuffix(note, "is missing: NameError: np") })
	}
	for _, step := range []struct {
		code  string
		reset bool
		want  bool
	}{
		{"x", false, true},
		{"x", false, false},
		{"crash", false, false}, // the copy that steps in began with it
		{"x", false, false},
		{"x", true, true},
	} {
		got := told(RunRequest{Code: step.code, Reset: step.reset})
		expect(t, got == step.want, "%+v: told: %v", step, got)
	}
	must(t, errOf(m.Branch(t.Context(), me, "")))
	for _, l := range list(t, m) {
		expect(t, strings.Contains(l.InitError, "NameError"), "%s: %q", l.ID, l.InitError)
	}
}

// TestInitCodeThatNeverEnds: calls and the list say the same.
func TestInitCodeThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		starter := echoes()
		run := starter.start
		starter.start = func(spec Spec) (*fakeWorker, error) { <-end; return run(spec) }
		m := newTestManager(t, starter, nil)
		defer close(end)
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x", Wait: time.Second})), CodeBusy, "still starting", "in a few seconds")
		l := list(t, m)[0]
		expect(t, l.Status == "starting" && l.Idle == startPatience.Seconds(), "%+v", l)
		time.Sleep(time.Minute)
		wantCode(t, errOf(m.Run(t.Context(), me, RunRequest{Code: "x", Wait: time.Second})), CodeBusy, "still starting, for 1 minute", "--init-code")
	})
}

func TestExceptionIn(t *testing.T) {
	for traceback, want := range map[string]string{
		"Traceback (most recent call last):\n  File \"a\", line 1\n    1/0\nZeroDivisionError: by zero\n": "ZeroDivisionError: by zero",
		"  File \"<init>\", line 1\n    (\n    ^\nSyntaxError: '(' was never closed":                      "SyntaxError: '(' was never closed",
		"Traceback (most recent call last):\n  File \"a\", line 1\nValueError: one\ntwo":                  "ValueError: one two",
		"KeyError": "KeyError",
		"":         "",
	} {
		got := exceptionIn(traceback)
		expect(t, got == want, "%q: %q", traceback, got)
	}
}
