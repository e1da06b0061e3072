package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/sessions/output"
)

func TestExecutionsAreRemembered(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	short := mustRun(t, m, RunRequest{Code: "short"})
	long := mustRun(t, m, RunRequest{Code: strings.Repeat("a line\n", 5000)})
	id := short.InterpreterID

	briefs, err := m.Executions(me, id)
	expect(t, err == nil && len(briefs) == 2 && briefs[0].Printed[Stdout] == 5 && !briefs[0].Long[Stdout] && briefs[1].Long[Stdout] && briefs[1].Status == StatusOK,
		"%+v %v", briefs, err)
	page, err := m.Output(t.Context(), me, id, 1, Stdout, Range{})
	expect(t, err == nil && page.Text == "short" && page.Path == "" && page.Whole(), "%+v %v", page, err)
	page, err = m.Output(t.Context(), me, id, 2, Stdout, Range{From: 4999})
	expect(t, err == nil && page.Text == "a line\na line\n" && page.Path == long.OutputPath, "%+v %v", page, err)
	record, err := m.Execution(me, id, 2)
	expect(t, err == nil && record.Code == strings.Repeat("a line\n", 5000) && strings.Contains(record.Stdout, output.Marker(27_000)) && record.StdoutTruncated == 27_000 && record.Status == StatusOK,
		"%+v %v", record, err)
	for _, number := range []int{0, 3, -1} {
		wantCode(t, errOf(m.Execution(me, id, number)), CodeNotFound, "executions 1 to 2 are")
	}
}

func TestAnothersExecutionsAreNotFound(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	id := mustRun(t, m, RunRequest{Code: "x"}).InterpreterID
	ctx := t.Context()
	for name, ask := range map[string]func(Client) error{
		"interpreter": func(c Client) error { _, err := m.Interpreter(c, id); return err },
		"executions":  func(c Client) error { _, err := m.Executions(c, id); return err },
		"execution":   func(c Client) error { _, err := m.Execution(c, id, 1); return err },
		"brief":       func(c Client) error { _, err := m.Brief(c, id, 1); return err },
		"output":      func(c Client) error { _, err := m.Output(ctx, c, id, 1, Stdout, Range{}); return err },
		"files":       func(c Client) error { _, err := m.Files(ctx, c, id, ""); return err },
		"stat":        func(c Client) error { _, err := m.Stat(ctx, c, id, "."); return err },
		"upload":      func(c Client) error { _, err := m.Upload(ctx, c, id, "f", nil); return err },
	} {
		err := ask(me)
		expect(t, err == nil, "%s: %v", name, err)
		wantCode(t, ask(other), CodeNotFound, id)
	}
	for name, ask := range map[string]func(Client) error{
		"file":   func(c Client) error { _, err := m.File(ctx, c, id, "f", Range{}, 10); return err },
		"figure": func(c Client) error { _, _, err := m.Figure(ctx, c, id, "f.png", 10); return err },
	} {
		err := ask(other)
		wantCode(t, err, CodeNotFound, "Interpreter "+id+" not found")
		if name == "figure" {
			wantCode(t, ask(me), CodeNotFound, "no figure")
		}
	}
	own := m.Own(me)
	expect(t, len(own) == 1 && own[0] == id && len(m.Own(other))+len(m.Own("")) == 0, "%v", own)
	must(t, m.Delete(ctx, me, id))
	wantCode(t, errOf(m.Output(ctx, me, id, 1, Stdout, Range{})), CodeNotFound)
}

func TestRunningExecutionIsRead(t *testing.T) {
	more, printed := make(chan string), make(chan bool)
	m := newTestManager(t, workerThat(func(_ *fakeWorker, _ Request, sink Sink) (Outcome, error) {
		for text := range more {
			sink.Output(Stdout, []byte(text))
			printed <- true
		}
		return Outcome{OK: true}, nil
	}), func(o *Options) { o.SpoolAfter = 10 })
	defer close(more)
	id := mustRun(t, m, RunRequest{Code: "x", Wait: -1}).InterpreterID
	whole := ""
	for i := range 5 {
		text := fmt.Sprintf("line %d\n", i)
		more <- text
		<-printed
		whole += text
		page, err := m.Output(t.Context(), me, id, 1, Stdout, Range{})
		expect(t, err == nil && page.Text == whole && page.Running, "%+v %v", page, err)
	}
	record, err := m.Execution(me, id, 1)
	expect(t, err == nil && record.Status == StatusRunning && record.Stdout == whole, "%+v %v", record, err)
	brief, err := m.Brief(me, id, 1)
	expect(t, err == nil && brief.Printed[Stdout] == int64(len(whole)), "%+v %v", brief, err)
}

func TestOldExecutionsAreForgotten(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	first := mustRun(t, m, RunRequest{Code: "long enough for a file"})
	for range keptExecutions {
		mustRun(t, m, RunRequest{Code: "x"})
	}
	waitFor(t, func() bool {
		briefs, err := m.Executions(me, first.InterpreterID)
		return err == nil && len(briefs) == keptExecutions && briefs[0].Execution == 2
	})
	waitFor(t, func() bool { _, err := os.Stat(filepath.Dir(first.OutputPath)); return os.IsNotExist(err) })
	wantCode(t, errOf(m.Execution(me, first.InterpreterID, 1)), CodeNotFound, "executions 2 to 101 are")
}

// TestFilesOfAnswersThatNobodyFetched go, too: at once when the answer is given
// up, and after the next execution when it was fetched late.
func TestFilesOfAnswersThatNobodyFetched(t *testing.T) {
	const runs = 3 * maxUncollected
	var holding atomic.Bool // until the call that began the run has returned
	release := make(chan struct{})
	m := newTestManager(t, workerThat(func(_ *fakeWorker, r Request, sink Sink) (Outcome, error) {
		sink.Output(Stdout, []byte(r.Code))
		if holding.Load() {
			<-release
		}
		return Outcome{OK: true}, nil
	}), func(o *Options) { o.SpoolAfter, o.SpoolLimit = 10, 100 })
	code := strings.Repeat("x", 90)
	id := mustRun(t, m, RunRequest{Code: code}).InterpreterID
	s := m.sessions[id]
	ran := func(most int) {
		t.Helper()
		waitFor(t, func() bool {
			kept, _ := os.ReadDir(filepath.Join(s.outputs, "executions"))
			// While it tidies up after the last run it may remove what is fetched meanwhile.
			return s.turn.idle() && s.turn.tidied() == nil && len(kept) <= most
		})
	}
	holding.Store(true)
	for range runs {
		mustRun(t, m, RunRequest{Code: code, Wait: -1})
		release <- struct{}{}
		waitFor(t, func() bool { return s.runningNow() == nil })
	}
	holding.Store(false)
	ran(maxUncollected + 1)
	for range maxUncollected {
		r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: id, Wait: 0})
		must(t, err)
		text, err := os.ReadFile(r.OutputPath)
		expect(t, err == nil && string(text) == code, "execution %d: %q %v", r.Execution, text, err)
	}
	mustRun(t, m, RunRequest{Code: code})
	ran(keptSpools + 1)
	same(t, keptSpools, len(s.history.list()))
}

// TestOutputThatWasTamperedWith: what code puts in the place of the files of its
// output is neither opened nor waited for.
func TestOutputThatWasTamperedWith(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	r := mustRun(t, m, RunRequest{Code: "long enough for a file"})
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("long enough for a file, too"), 0o600))
	for name, put := range map[string]func(path string) error{
		"pipe": makeFIFO, "nothing": func(string) error { return nil },
		"less": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"link": func(path string) error { return os.Symlink(secret, path) },
	} {
		_ = os.Remove(r.OutputPath)
		if err := put(r.OutputPath); err != nil {
			t.Logf("%s: %v", name, err) // not possible on this system
			continue
		}
		wantCode(t, errOf(m.Output(t.Context(), me, r.InterpreterID, 1, Stdout, Range{})), CodeNotFound, "execution 1 was changed from outside")
		wantCode(t, errOf(m.Execution(me, r.InterpreterID, 1)), CodeNotFound, "execution 1 was changed from outside")
		next := filepath.Join(filepath.Dir(filepath.Dir(r.OutputPath)), fmt.Sprint(m.sessions[r.InterpreterID].ran()+1), "stdout")
		if err := os.MkdirAll(filepath.Dir(next), 0o700); err == nil && put(next) == nil && name != "nothing" {
			r := mustRun(t, m, RunRequest{Code: "long enough for a file"})
			expect(t, r.Stdout == "long enough for a file", "%s: %+v", name, r)
		}
	}
	text, err := os.ReadFile(secret)
	expect(t, err == nil && string(text) == "long enough for a file, too", "%q %v", text, err)
}

// TestAReadThatComesTooLate: the execution is forgotten while it is read.
func TestAReadThatComesTooLate(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	id := mustRun(t, m, RunRequest{Code: "long enough for a file"}).InterpreterID
	mustRun(t, m, RunRequest{Code: "x"})
	s := m.sessions[id]
	e := s.history.list()[0]
	s.history.mu.Lock() // the second run may be being remembered
	s.history.all = s.history.all[1:]
	s.history.mu.Unlock()
	must(t, os.RemoveAll(s.executionDir(1)))
	_, err := e.transcript.Read(t.Context(), Stdout, Range{})
	wantCode(t, s.unrecalled(e, err), CodeNotFound, "executions 2 to 2 are")
}

// TestWhatARunWeighs: its code and what it printed, until its session forgets it.
func TestWhatARunWeighs(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	code := strings.Repeat("x", 5000) // which it prints
	s := m.sessions[mustRun(t, m, RunRequest{Code: code}).InterpreterID]
	list(t, m) // the run has been remembered
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	got := s.history.all[0].memory
	expect(t, got >= 2*len(code) && got <= 3*len(code), "it weighs %d", got)
}

func TestRangesThatAreRefused(t *testing.T) {
	for code, refused := range map[Code]error{
		CodeInvalid: &output.RangeError{Reason: "from is 0"},
		CodeLimit:   fmt.Errorf("reading: %w", &output.RangeError{Reason: "from is 9", TooFar: true}),
	} {
		wantCode(t, rangeError(refused), code, "from is")
	}
	err := io.ErrUnexpectedEOF
	expect(t, errors.Is(rangeError(err), err), "another error has changed")
}

func TestWeighsWhatItKeeps(t *testing.T) {
	var h history
	add := func(number, code int, spooled int64) []*execution {
		e := newExecution(number, RunRequest{}, nil, lineage{})
		e.memory, e.spooled, e.result, e.collected = code, spooled, &Result{}, true
		h.add(e)
		return h.forget(1000)
	}
	for i, test := range []struct {
		code    int
		spooled int64
		dropped int
	}{
		{keptMemory / 2, 0, 0},
		{keptMemory / 2, 1000, 0},
		{10, 3000, 1},
		{10, 1, 1},
		{2 * keptMemory, 0, 2},
		{10, 9000, 1},
		{10, 0, 1},
	} {
		dropped := add(i+1, test.code, test.spooled)
		expect(t, len(dropped) == test.dropped, "execution %d drops %d", i+1, len(dropped))
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come true")
		}
	}
}

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
	same(t, want, told(w))
}

func text(s string) *string { return &s }

func setVariables(t *testing.T, m *Manager, id string, variables map[string]*string) *Setting {
	t.Helper()
	s, err := m.SetVariables(t.Context(), me, id, variables)
	must(t, err)
	return s
}

// TestAWorkerIsToldOfChangesOnly, and before the execution that is to find them.
func TestAWorkerIsToldOfChangesOnly(t *testing.T) {
	starter, plugins := echoes(), &shelf{}
	plugins.put("a")
	m := newTestManager(t, starter, func(o *Options) {
		o.Equipper, o.SessionVariables = plugins, map[string]string{"db": "x"}
	})
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
	must(t, err)
	mustRun(t, m, RunRequest{Code: "6", InterpreterID: other.ID})
	wantTold(t, starter.started()[2], "a,b map[db:x]")
}

func TestWithoutPluginsNobodyIsTold(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, func(o *Options) { o.SessionVariables = map[string]string{"db": "x"} })
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
	same(t, []string{"k"}, child.SessionVariables)
	runIn(t, m, child.ID, "2")
	wantTold(t, f.lead(), "a map[k:v]")
	// From then on each has its own.
	setVariables(t, m, child.ID, map[string]*string{"k": text("w")})
	same(t, []string{"v", "w"}, m.sessions[child.ID].secretsNow()) // the earlier value is to be masked, too
	run(t, m, "3")
	undo(t, m)
	run(t, m, "4")
	wantTold(t, f.lead(), "a map[k:v]")
	runs(t, m, "crash", "5")
	wantTold(t, f.lead(), "a map[k:v]")
}

// TestTheSecondTryIsTold: what runs code once more after a crash finds the same.
func TestTheSecondTryIsTold(t *testing.T) {
	f, plugins := remembers(), &shelf{}
	plugins.put("a")
	m := surviving(t, f, func(o *Options) { o.Equipper, o.RerunAfterCrash = plugins, true })
	same(t, StatusOK, run(t, m, "crash once").Status)
	wantTold(t, f.started()[1], "a map[]")
}

func TestSetVariables(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, nil)
	first := setVariables(t, m, "", map[string]*string{"b": text("1"), "a": text(""), "never": nil})
	want := &Setting{InterpreterID: first.InterpreterID, Set: []string{"a", "b"}, Names: []string{"a", "b"}}
	diff := cmp.Diff(want, first)
	expect(t, diff == "" && len(starter.started()) == 0, "%d workers\n%s", len(starter.started()), diff)
	second := setVariables(t, m, first.InterpreterID, map[string]*string{"a": nil, "ü x": text("2")})
	want = &Setting{InterpreterID: first.InterpreterID, Set: []string{"ü x"}, Removed: []string{"a"}, Names: []string{"b", "ü x"}}
	same(t, want, second)
	listings, err := m.List(t.Context(), me)
	if err != nil || len(listings) != 1 {
		t.Fatalf("%+v %v", listings, err)
	}
	same(t, []string{"b", "ü x"}, listings[0].SessionVariables)
}

// TestSetVariablesRefuses: all or none.
func TestSetVariablesRefuses(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
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
		wantCode(t, errOf(m.SetVariables(t.Context(), me, id, variables)), CodeInvalid, words)
	}
	s := setVariables(t, m, "", map[string]*string{"more": text("x"), "0": nil})
	expect(t, len(s.Names) == mostSessionVariables, "%d names", len(s.Names))
	wantCode(t, errOf(m.SetVariables(t.Context(), other, id, map[string]*string{"a": nil})), CodeNotFound)
	must(t, errOf(m.SetVariables(t.Context(), Anonymous, "", map[string]*string{"a": text("b")})))
}

func TestCheckSessionVariables(t *testing.T) {
	must(t, CheckSessionVariables(map[string]string{"a": "b"}))
	wantCode(t, CheckSessionVariables(map[string]string{"": "b"}), CodeInvalid, "empty name")
	many := map[string]string{}
	for i := range mostSessionVariables + 1 {
		many[fmt.Sprint(i)] = ""
	}
	wantCode(t, CheckSessionVariables(many), CodeInvalid, "101")
}

// TestPackagesBelongToTheFamily: without a wall there is no home until something is
// installed; then every execution of the group is told where the packages are.
func TestPackagesBelongToTheFamily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[string]string{}
		f := workerThat(func(w *fakeWorker, r Request, _ Sink) (Outcome, error) {
			told[r.Code] = r.PackagesDir
			expect(t, r.Kind != RunsInstall || string(r.Arguments) == `{"packages":["x"]}`, "arguments %s", r.Arguments)
			if r.Code == "%pip install slow" {
				<-w.stopped
				return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt", Traceback: "KeyboardInterrupt\n"}}, nil
			}
			return Outcome{OK: true}, nil
		})
		f.forks = true
		m := newTestManager(t, f, func(*Options) {})
		arguments := json.RawMessage(`{"packages":["x"]}`)
		id := mustRun(t, m, RunRequest{Code: "before"}).InterpreterID
		r := mustRun(t, m, RunRequest{Kind: RunsInstall, Code: "%pip install x", Arguments: arguments})
		expect(t, r.Kind == RunsInstall && r.Success, "%+v", r)
		mustRun(t, m, RunRequest{Code: "after"})
		other, err := m.Branch(t.Context(), me, id)
		must(t, err)
		mustRun(t, m, RunRequest{Code: "branch", InterpreterID: other.ID})
		stranger, err := m.Create(t.Context(), me, CreateRequest{})
		must(t, err)
		mustRun(t, m, RunRequest{Code: "stranger", InterpreterID: stranger.ID})

		packages := filepath.Join(m.options.WorkdirRoot, "home-"+id, "packages")
		for code, want := range map[string]string{"before": "", "%pip install x": packages, "after": packages, "branch": packages, "stranger": ""} {
			expect(t, told[code] == want, "%s: told %q, want %q", code, told[code], want)
		}
		r = mustRun(t, m, RunRequest{Kind: RunsInstall, Code: "%pip install slow", Arguments: arguments, Timeout: time.Second})
		expect(t, r.Status == StatusTimeout && r.Traceback == "", "%+v", r)
		for _, gone := range []string{id, other.ID} {
			must(t, errOf(os.Stat(filepath.Dir(packages))))
			remove(t, m, gone)
		}
		_, err = os.Stat(filepath.Dir(packages))
		expect(t, os.IsNotExist(err), "the home is still there: %v", err)
	})
}
