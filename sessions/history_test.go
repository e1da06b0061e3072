package sessions

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"understudy/sessions/output"
)

func TestExecutionsAreRemembered(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	defer m.Close(t.Context())
	short := mustRun(t, m, RunRequest{Code: "short"})
	long := mustRun(t, m, RunRequest{Code: strings.Repeat("a line\n", 5000)})
	id := short.InterpreterID

	briefs, err := m.Executions(me, id)
	if err != nil || len(briefs) != 2 || briefs[0].Printed[Stdout] != 5 || briefs[0].Long[Stdout] || !briefs[1].Long[Stdout] || briefs[1].Status != StatusOK {
		t.Errorf("%+v %v", briefs, err)
	}
	page, err := m.Output(t.Context(), me, id, 1, Stdout, Range{})
	if err != nil || page.Text != "short" || page.Path != "" || !page.Whole() {
		t.Errorf("%+v %v", page, err)
	}
	page, err = m.Output(t.Context(), me, id, 2, Stdout, Range{From: 4999})
	if err != nil || page.Text != "a line\na line\n" || page.Path != long.OutputPath {
		t.Errorf("%+v %v", page, err)
	}
	record, err := m.Execution(me, id, 2)
	if err != nil || record.Code != strings.Repeat("a line\n", 5000) || !strings.Contains(record.Stdout, output.Marker(27_000)) || record.StdoutTruncated != 27_000 || record.Status != StatusOK {
		t.Errorf("%+v %v", record, err)
	}
	for _, number := range []int{0, 3, -1} {
		_, err := m.Execution(me, id, number)
		wantCode(t, err, CodeNotFound, "executions 1 to 2 are")
	}
}

func TestAnothersExecutionsAreNotFound(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
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
		if err := ask(me); err != nil {
			t.Errorf("%s: %v", name, err)
		}
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
	if own := m.Own(me); len(own) != 1 || own[0] != id || len(m.Own(other))+len(m.Own("")) != 0 {
		t.Errorf("%v", own)
	}
	if err := m.Delete(ctx, me, id); err != nil {
		t.Fatal(err)
	}
	_, err := m.Output(ctx, me, id, 1, Stdout, Range{})
	wantCode(t, err, CodeNotFound)
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
	defer m.Close(t.Context())
	defer close(more)
	id := mustRun(t, m, RunRequest{Code: "x", Wait: -1}).InterpreterID
	whole := ""
	for i := range 5 {
		text := fmt.Sprintf("line %d\n", i)
		more <- text
		<-printed
		whole += text
		page, err := m.Output(t.Context(), me, id, 1, Stdout, Range{})
		if err != nil || page.Text != whole || !page.Running {
			t.Errorf("%+v %v", page, err)
		}
	}
	record, err := m.Execution(me, id, 1)
	if err != nil || record.Status != StatusRunning || record.Stdout != whole {
		t.Errorf("%+v %v", record, err)
	}
	if brief, err := m.Brief(me, id, 1); err != nil || brief.Printed[Stdout] != int64(len(whole)) {
		t.Errorf("%+v %v", brief, err)
	}
}

func TestOldExecutionsAreForgotten(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	defer m.Close(t.Context())
	first := mustRun(t, m, RunRequest{Code: "long enough for a file"})
	for range keptExecutions {
		mustRun(t, m, RunRequest{Code: "x"})
	}
	waitFor(t, func() bool {
		briefs, err := m.Executions(me, first.InterpreterID)
		return err == nil && len(briefs) == keptExecutions && briefs[0].Execution == 2
	})
	waitFor(t, func() bool { _, err := os.Stat(filepath.Dir(first.OutputPath)); return os.IsNotExist(err) })
	_, err := m.Execution(me, first.InterpreterID, 1)
	wantCode(t, err, CodeNotFound, "executions 2 to 101 are")
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
	defer m.Close(t.Context())
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
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(r.OutputPath); err != nil || string(text) != code {
			t.Errorf("execution %d: %q %v", r.Execution, text, err)
		}
	}
	mustRun(t, m, RunRequest{Code: code})
	ran(keptSpools + 1)
	if n := len(s.history.list()); n != keptSpools {
		t.Errorf("%d are kept", n)
	}
}

// TestOutputThatWasTamperedWith: what code puts in the place of the files of its
// output is neither opened nor waited for.
func TestOutputThatWasTamperedWith(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	defer m.Close(t.Context())
	r := mustRun(t, m, RunRequest{Code: "long enough for a file"})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("long enough for a file, too"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"pipe": makeFIFO, "nothing": func(string) error { return nil },
		"link": func(path string) error { return os.Symlink(secret, path) },
	} {
		_ = os.Remove(r.OutputPath)
		if err := put(r.OutputPath); err != nil {
			t.Logf("%s: %v", name, err) // not possible on this system
			continue
		}
		_, err := m.Output(t.Context(), me, r.InterpreterID, 1, Stdout, Range{})
		wantCode(t, err, CodeNotFound, "execution 1 was changed from outside")
		_, err = m.Execution(me, r.InterpreterID, 1)
		wantCode(t, err, CodeNotFound, "execution 1 was changed from outside")
		next := filepath.Join(filepath.Dir(filepath.Dir(r.OutputPath)), fmt.Sprint(m.sessions[r.InterpreterID].ran()+1), "stdout")
		if err := os.MkdirAll(filepath.Dir(next), 0o700); err == nil && put(next) == nil && name != "nothing" {
			if r := mustRun(t, m, RunRequest{Code: "long enough for a file"}); r.Stdout != "long enough for a file" {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "long enough for a file, too" {
		t.Errorf("%q %v", text, err)
	}
}

// TestAReadThatComesTooLate: the execution is forgotten while it is read.
func TestAReadThatComesTooLate(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.SpoolAfter = 10 })
	defer m.Close(t.Context())
	id := mustRun(t, m, RunRequest{Code: "long enough for a file"}).InterpreterID
	mustRun(t, m, RunRequest{Code: "x"})
	s := m.sessions[id]
	e := s.history.list()[0]
	s.history.mu.Lock() // the second run may be being remembered
	s.history.all = s.history.all[1:]
	s.history.mu.Unlock()
	if err := os.RemoveAll(s.executionDir(1)); err != nil {
		t.Fatal(err)
	}
	_, err := e.transcript.Read(t.Context(), Stdout, Range{})
	wantCode(t, s.unrecalled(e, err), CodeNotFound, "executions 2 to 2 are")
}

// TestWhatARunWeighs: its code and what it printed, until its session forgets it.
func TestWhatARunWeighs(t *testing.T) {
	m := newTestManager(t, echoes(), nil)
	defer m.Close(t.Context())
	code := strings.Repeat("x", 5000) // which it prints
	s := m.sessions[mustRun(t, m, RunRequest{Code: code}).InterpreterID]
	list(t, m) // the run has been remembered
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	if got := s.history.all[0].memory; got < 2*len(code) || got > 3*len(code) {
		t.Errorf("it weighs %d", got)
	}
}

func TestRangesThatAreRefused(t *testing.T) {
	for code, refused := range map[Code]error{
		CodeInvalid: &output.RangeError{Reason: "from is 0"},
		CodeLimit:   fmt.Errorf("reading: %w", &output.RangeError{Reason: "from is 9", TooFar: true}),
	} {
		wantCode(t, rangeError(refused), code, "from is")
	}
	if err := io.ErrUnexpectedEOF; !errors.Is(rangeError(err), err) {
		t.Error("another error has changed")
	}
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
		if dropped := add(i+1, test.code, test.spooled); len(dropped) != test.dropped {
			t.Errorf("execution %d drops %d", i+1, len(dropped))
		}
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
