package live

import (
	"errors"
	"fmt"
	"io"
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

// TestPolling reads everything once, then what has changed, and everything again when
// the server is gone.
func TestPolling(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}, executions: []journal.Execution{execution(1, 0, first, 1, "x", sessions.StatusOK)}}
	p := polls(f)
	look := func(since int64, want int) picture {
		t.Helper()
		f.asked = nil
		got := p.poll(t.Context(), 0)
		insist(t, got.problem == nil, "%v", got.problem)
		if len(got.executions) != want || len(f.asked) != 1 || f.asked[0].Since != since || f.asked[0].Limit == 0 || f.asked[0].Detail {
			t.Errorf("%d executions, asked %+v", len(got.executions), f.asked)
		}
		return got
	}
	before := look(0, 1)
	look(1, 1)
	changed := execution(1, 0, first, 1, "x", sessions.StatusError)
	changed.Revision = 5
	f.change(func() {
		f.executions = []journal.Execution{changed, execution(6, 1, first, 2, "y", sessions.StatusOK)}
	})
	if after := look(1, 2); after.executions[0].Status != sessions.StatusError || before.executions[0].Status != sessions.StatusOK {
		t.Errorf("%+v, and what a picture showed before: %+v", after.executions, before.executions)
	}
	f.change(func() { f.runs[0].Alive = false })
	u := look(0, 2)
	expect(t, u.heartbeats == nil, "the server is gone: %+v", u)
	err := p.close()
	expect(t, err == nil && f.closed, "the journal stays open")
}

// TestOpenedIsRead with its details, once for each of its revisions.
func TestOpenedIsRead(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}, executions: anExperiment()}
	p := polls(f)
	details := func() (n int) {
		for _, q := range f.asked {
			if q.Detail && q.ID == 9 {
				n++
			}
		}
		return n
	}
	for want, change := range []func(){nil, func() {}, func() {}, func() { f.executions[7].Revision = 20 }} {
		if change == nil {
			continue
		}
		f.change(change)
		got := p.poll(t.Context(), 9)
		insist(t, got.opened != nil && got.opened.ID == 9, "%+v", got.opened)
		n := details()
		expect(t, n == max(1, want-1), "look %d: read %d times", want, n)
	}
	got := p.poll(t.Context(), 999)
	expect(t, got.opened == nil && got.problem == nil, "%+v, %v", got.opened, got.problem)
}

func TestPollingWithoutAJournal(t *testing.T) {
	var f *fakeSource
	p := &poller{options: Options{Open: func() (Source, error) {
		if f == nil {
			return nil, fmt.Errorf("opening: %w", fs.ErrNotExist)
		}
		return f, nil
	}}}
	u := p.poll(t.Context(), 0)
	expect(t, u.waiting(), "without a file: %+v", u)
	f = &fakeSource{}
	if u := p.poll(t.Context(), 0); !u.waiting() {
		t.Errorf("without a run: %+v", u)
	}
	f.runs = []journal.Run{aRun()}
	if u := p.poll(t.Context(), 0); u.problem != nil || u.run == nil {
		t.Errorf("with one: %+v", u)
	}
	f.problem = errors.New("the disk is gone")
	if u := p.poll(t.Context(), 0); u.waiting() || u.problem == nil {
		t.Errorf("a problem: %+v", u)
	}
}

// TestProblemsPass shows what was known while the journal can't be read.
func TestProblemsPass(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}, executions: anExperiment()}
	p := polls(f)
	s := newScreen(Options{})
	look := func() string {
		t.Helper()
		s.take(p.poll(t.Context(), s.opened))
		return s.view()
	}
	look()
	f.change(func() { f.problem = errors.New("the disk is gone") })
	view := look()
	expect(t, strings.Contains(view, "the disk is gone") && strings.Contains(view, "A small network"), "%v", view)
	f.change(func() { f.problem = nil })
	if view := look(); strings.Contains(view, "the disk is gone") || len(s.rows) != 8 {
		t.Error(view)
	}
}

// TestManyExecutions keeps the newest only, and little of each.
func TestManyExecutions(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}}
	for id := int64(1); id <= mostExecutions; id++ {
		f.executions = append(f.executions, execution(id, id-1, first, int(id), "x", sessions.StatusOK))
	}
	p := polls(f)
	p.poll(t.Context(), 0)
	f.executions = append(f.executions, execution(mostExecutions+1, mostExecutions, first, mostExecutions+1, string(make([]byte, 10*mostText)), sessions.StatusOK))
	got := p.poll(t.Context(), 0).executions
	if len(got) != mostExecutions || got[0].ID != 2 || len(got[mostExecutions-1].Code) > mostText {
		t.Errorf("%d are kept, from %d on, with %d bytes of code", len(got), got[0].ID, len(got[mostExecutions-1].Code))
	}
	n := len(rowsOf(experimentsOf(got, false), false, ""))
	expect(t, n == mostExecutions, "%d rows", n)
}

// TestOldHeartbeats holds that what has ended is not shown as running.
func TestOldHeartbeats(t *testing.T) {
	p := aPicture()
	rest(&p)
	lines := shows(p, 80, 30).now(80, 30)
	expect(t, len(lines) >= 3, "what runs is not shown: %q", lines)
	p.executions[7].Status = sessions.StatusOK
	rest(&p)
	if lines := shows(p, 80, 30).now(80, 30); len(lines) != 2 || lines[1] != "nothing" {
		t.Errorf("what has ended is shown as running: %q", lines)
	}
}

// TestJournalThatIsTakenAway says so, and the lines end with that.
func TestJournalThatIsTakenAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	write := func() {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	p := polls(&fakeSource{runs: []journal.Run{aRun()}})
	p.options.Path = path
	s, f := newScreen(p.options), newFollower(p.options, io.Discard)
	look := func() error {
		u := p.poll(t.Context(), 0)
		s.take(u)
		_, err := f.take(u)
		return err
	}
	if err := look(); err != nil || s.picture.problem != nil {
		t.Fatal(err, s.picture.problem)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	var err error
	for range patience + 1 {
		err = look()
		write() // another one comes in its place
	}
	if view := s.view(); !errors.Is(err, errGone) || !strings.Contains(view, "removed or replaced. Start watch again.") {
		t.Errorf("%v\n%s", err, view)
	}
}

// TestRunThatIsNotThere says so.
func TestRunThatIsNotThere(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}}
	p := polls(f)
	p.options.Run = "ZZ"
	s := newScreen(p.options)
	for range 3 {
		s.take(p.poll(t.Context(), s.opened))
	}
	view := s.view()
	expect(t, strings.Contains(view, "no such run") && !strings.Contains(view, "can't be read"), "it says\n%s", view)
}

// TestLostBesideTrials shows what is no trial and was lost with its server.
func TestLostBesideTrials(t *testing.T) {
	p := killed()
	lost := execution(1, 0, first, 1, "prepare()", journal.StatusLost)
	p.executions = append([]journal.Execution{lost}, p.executions...)
	lines := shows(p, 80, 30).now(80, 30)
	expect(t, len(lines) == 3 && strings.Contains(lines[1], "prepare()") && strings.Contains(lines[2], "#8"), "%q", lines)
}

// TestWhichRun stays with a run as long as its server is there, or something of it is open.
func TestWhichRun(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}}
	p := polls(f)
	shown := func(opened int64) string {
		t.Helper()
		for range seldom - 1 {
			p.poll(t.Context(), opened)
		}
		return p.poll(t.Context(), opened).run.ID
	}
	shown(0)
	newer := aRun()
	newer.ID = "ZZZZZZZZZ2"
	f.change(func() { f.runs = []journal.Run{newer, aRun()} })
	got := shown(0)
	expect(t, got == aRun().ID, "%s is shown while the other goes on", got)
	f.change(func() { f.runs[1].Alive = false })
	if got := shown(9); got != aRun().ID {
		t.Errorf("%s is shown while one reads in the other", got)
	}
	if got := shown(0); got != newer.ID {
		t.Errorf("%s is shown once the other has ended", got)
	}
}

// TestForemost: a server that was started and ended without a call hides no other.
func TestForemost(t *testing.T) {
	idle, busy := journal.Run{ID: "idle", Alive: true}, journal.Run{ID: "busy", Alive: true, Executions: 1}
	empty, done := journal.Run{ID: "empty"}, journal.Run{ID: "done", Executions: 1}
	for want, runs := range map[string][]journal.Run{
		"busy": {empty, idle, done, busy}, "idle": {empty, done, idle}, "done": {empty, done}, "empty": {empty},
	} {
		got := foremost(runs).ID
		expect(t, got == want, "%s, not %s", got, want)
	}
}
