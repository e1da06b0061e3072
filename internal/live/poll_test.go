package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/journal"
	"understudy/sessions"
)

func polls(f *fakeSource) *poller {
	return &poller{options: Options{Open: func() (Source, error) { return f, nil }}}
}

// TestPolling reads everything once, then what has changed, and everything again
// when trials begin and when the server is gone.
func TestPolling(t *testing.T) {
	run := aRun()
	run.Trials = 0
	f := &fakeSource{runs: []journal.Run{run}, executions: []journal.Execution{execution(1, 0, first, 1, "x", sessions.StatusOK)}}
	p := polls(f)
	asked := ""
	look := func() update {
		t.Helper()
		u := p.poll(t.Context(), ask{run: asked})
		if u.problem != nil {
			t.Fatal(u.problem)
		}
		asked = u.run.ID
		return u
	}
	settle := func() update { // until the run itself is read again
		for range seldom - 1 {
			if u := look(); u.seldom {
				return u
			}
		}
		return look()
	}
	if u := look(); !u.whole || len(u.executions) != 1 || len(u.runs) != 1 || !u.seldom {
		t.Fatalf("the first look: %+v", u)
	}
	if u := look(); u.whole || len(u.executions) != 0 {
		t.Errorf("nothing has changed: %+v", u)
	}
	f.change(func() {
		f.executions = append(f.executions, execution(2, 1, first, 2, "y", sessions.StatusOK))
	})
	if u := look(); u.whole || len(u.executions) != 1 || u.executions[0].ID != 2 {
		t.Errorf("one is new: %+v", u)
	}
	f.change(func() {
		f.executions = append(f.executions, anExperiment()[7])
		f.runs[0].Trials = 1
	})
	if u := settle(); !u.whole || !u.trials || len(u.executions) != 1 || u.executions[0].ID != 9 {
		t.Errorf("trials have begun: %+v", u)
	}
	f.change(func() { f.runs[0].Alive = false })
	if u := settle(); !u.whole || len(u.executions) != 1 || u.pulses != nil {
		t.Errorf("the server is gone: %+v", u)
	}
	for _, q := range f.asked {
		if q.Limit == 0 || q.Detail {
			t.Errorf("a look asks for too much: %+v", q)
		}
	}
	if err := p.close(); err != nil || !f.closed {
		t.Error("the journal stays open")
	}
}

func TestPollingWithoutAJournal(t *testing.T) {
	var f *fakeSource
	p := &poller{options: Options{Open: func() (Source, error) {
		if f == nil {
			return nil, fmt.Errorf("opening: %w", fs.ErrNotExist)
		}
		return f, nil
	}}}
	if u := p.poll(t.Context(), ask{}); !u.waiting {
		t.Errorf("without a file: %+v", u)
	}
	f = &fakeSource{}
	if u := p.poll(t.Context(), ask{}); !u.waiting {
		t.Errorf("without a run: %+v", u)
	}
	f.runs = []journal.Run{aRun()}
	if u := p.poll(t.Context(), ask{}); u.waiting || u.problem != nil || u.run == nil {
		t.Errorf("with one: %+v", u)
	}
	f.problem = errors.New("the disk is gone")
	if u := p.poll(t.Context(), ask{run: "other"}); u.waiting || u.problem == nil {
		t.Errorf("a problem: %+v", u)
	}
}

// TestManyExecutions keeps the newest only, and little of each.
func TestManyExecutions(t *testing.T) {
	var p picture
	u := states()
	u.executions = nil
	for id := int64(1); id <= mostExecutions; id++ {
		u.executions = append(u.executions, execution(id, id-1, first, int(id), "x", sessions.StatusOK))
	}
	p.apply(u)
	u.whole = false
	long := execution(mostExecutions+1, mostExecutions, first, mostExecutions+1, string(make([]byte, 10*mostText)), sessions.StatusOK)
	shorten(&long)
	u.executions = []journal.Execution{long}
	p.apply(u)
	if n := len(p.executions); n != mostExecutions || p.executions[0].ID != 2 {
		t.Errorf("%d are kept, from %d on", n, p.executions[0].ID)
	}
	if n := len(p.newest().Code); n > mostText {
		t.Errorf("%d bytes of code are kept", n)
	}
	if n := len(p.rows(nil, "")); n != mostExecutions {
		t.Errorf("%d rows", n)
	}
}

// TestOldPulses holds that what has ended is not shown as running.
func TestOldPulses(t *testing.T) {
	u := anUpdate()
	u.pulses[0].Execution = u.executions[7].Place.Execution
	s := shows(u, 80, 30)
	if block := s.now(80); len(block.lines) < 2 {
		t.Errorf("what runs is not shown: %q", block.lines)
	}
	u.asked, u.whole = s.wanted, false
	u.executions = u.executions[7:]
	u.executions[0].Status = sessions.StatusOK
	s.apply(u)
	if block := s.now(80); len(block.lines) != 1 || block.lines[0] != "nothing" {
		t.Errorf("what has ended is shown as running: %q", block.lines)
	}
}

// TestJournalThatIsReplaced lets go of a journal that was taken away, and shows the
// one that comes in its place.
func TestJournalThatIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	create := func() {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	create()
	old := &fakeSource{runs: []journal.Run{aRun()}, executions: anExperiment()}
	run := aRun()
	run.ID = "ZZZZZZZZZ2"
	next := &fakeSource{runs: []journal.Run{run}}
	sources := []*fakeSource{old, next}
	p := &poller{options: Options{Path: path, Open: func() (Source, error) {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		f := sources[0]
		sources = sources[1:]
		return f, nil
	}}}
	s := newScreen(p.options)
	look := func() { s.apply(p.poll(t.Context(), s.ask())) }
	look()
	press(s, "enter")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		look()
		if view := s.view(); !old.closed || !strings.Contains(view, "taken away") || strings.Contains(view, "killed") {
			t.Fatalf("the journal is gone; closed %v:\n%s", old.closed, view)
		}
	}
	create()
	look()
	if view := s.view(); !strings.Contains(view, "ZZZZZZZZZ2") || s.opened != 0 || s.picture.problem != nil {
		t.Errorf("another journal is there:\n%s", view)
	}
}

// TestRunThatIsNotThere says so, lists those that are, and does not read them at each
// look.
func TestRunThatIsNotThere(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}}
	p := polls(f)
	s := newScreen(Options{Run: "ZZ"})
	for range 3 {
		s.apply(p.poll(t.Context(), s.ask()))
	}
	if f.listed != 1 {
		t.Errorf("the runs are read %d times", f.listed)
	}
	if view := s.view(); !strings.Contains(view, "no such run") || strings.Contains(view, "can't be read") {
		t.Errorf("it says\n%s", view)
	}
	press(s, "r")
	if view := s.view(); !strings.Contains(view, aRun().ID) {
		t.Errorf("the list is\n%s", view)
	}
	press(s, "enter")
	if s.apply(p.poll(t.Context(), s.ask())); s.picture.run == nil {
		t.Errorf("the run that was chosen is not shown:\n%s", s.view())
	}
}

// TestLostBesideTrials shows what is no trial and was lost with its server.
func TestLostBesideTrials(t *testing.T) {
	run := aRun()
	run.Alive = false
	lost := execution(20, 0, first, 9, "time.sleep(1e9)", journal.StatusLost)
	f := &fakeSource{runs: []journal.Run{run}, executions: append(anExperiment()[:7], lost)}
	p := polls(f)
	s := newScreen(Options{})
	s.apply(p.poll(t.Context(), s.ask()))
	if b := s.now(80); b.title != "Lost with the server" || len(b.lines) != 1 || !strings.Contains(b.lines[0], "3fa9c1@9") {
		t.Errorf("%+v", b)
	}
}

// TestForemost: a server that was started and ended without a call hides no other.
func TestForemost(t *testing.T) {
	idle, busy := journal.Run{ID: "idle", Alive: true}, journal.Run{ID: "busy", Alive: true, Executions: 1}
	empty, done := journal.Run{ID: "empty"}, journal.Run{ID: "done", Executions: 1}
	for want, runs := range map[string][]journal.Run{
		"busy": {empty, idle, done, busy}, "idle": {empty, done, idle}, "done": {empty, done}, "empty": {empty},
	} {
		if got := foremost(runs).ID; got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
