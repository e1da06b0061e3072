package live

import (
	"strings"
	"testing"

	"understudy/internal/journal"
)

// press presses a key that may write a character.
func press(s *screen, key string) effect {
	text := key
	if len([]rune(key)) > 1 {
		text = ""
	}
	return s.press(key, text)
}

func TestMoving(t *testing.T) {
	for _, test := range []struct {
		keys string
		want int64 // the execution that is selected
	}{
		{"", 9},
		{"up", 6},
		{"k k", 5},
		{"up up up down", 5},
		{"home", 2},
		{"home up", 2},
		{"g j j", 4},
		{"G", 8},
		{"end down", 8},
		{"b", 5},
		{"b left", 5},             // folds what is below
		{"b left down", 7},        // and passes over it
		{"b left left", 4},        // then goes up
		{"b left right right", 6}, // unfolds, then goes down
		{"home left", 2},          // nothing below, nothing above
		{"g j left b", 5},         // the best one is unfolded
		{"pgup f", 9},             // follows again
		{"/ b u g enter up", 3},
		{"/ b u g", 6},     // the last one that the filter leaves
		{"/ b u g esc", 9}, // still follows
		{"/ z z backspace backspace enter g", 2},
		{"/ x enter b", 5},
	} {
		s := shows(anUpdate(), 80, 24)
		for key := range strings.FieldsSeq(test.keys) {
			press(s, key)
		}
		if s.selected != test.want {
			t.Errorf("%q selects %d, not %d", test.keys, s.selected, test.want)
		}
	}
}

// TestFollowing holds that what is new is selected until the reader moves.
func TestFollowing(t *testing.T) {
	s := shows(anUpdate(), 80, 24)
	more := anUpdate()
	more.asked, more.whole = s.wanted, false
	more.executions = []journal.Execution{trial(execution(10, 5, first, 8, "x", "ok"), 9, 5, "improve", "newest", 0.5)}
	s.apply(more)
	if s.selected != 10 {
		t.Errorf("%d is selected, not the newest", s.selected)
	}
	press(s, "up")
	at := s.selected
	more.executions = []journal.Execution{trial(execution(11, 5, first, 9, "x", "ok"), 10, 5, "improve", "newest", 0.5)}
	s.apply(more)
	if s.selected != at {
		t.Errorf("%d is selected, not %d where the reader was", s.selected, at)
	}
}

func TestQuitting(t *testing.T) {
	for _, keys := range []string{"q", "ctrl+c", "/ ctrl+c", "? ctrl+c", "enter q", "? esc q", "/ q enter q"} {
		s := shows(anUpdate(), 80, 24)
		fields := strings.Fields(keys)
		for i, key := range fields {
			if quit := press(s, key).quit; quit != (i == len(fields)-1) {
				t.Errorf("%q: after %q quit is %v", keys, key, quit)
			}
		}
	}
}

// TestPanes goes round the panes.
func TestPanes(t *testing.T) {
	s := shows(anUpdate(), 120, 30)
	for _, want := range []pane{paneInterpreters, paneTree, paneInterpreters} {
		if press(s, "tab"); s.focus != want {
			t.Fatalf("tab goes to %d, not %d", s.focus, want)
		}
	}
	press(s, "enter")
	for _, want := range []pane{paneTree, paneDetail} {
		if press(s, "tab"); s.focus != want {
			t.Fatalf("with an open one tab goes to %d, not %d", s.focus, want)
		}
	}
	if press(s, "enter"); s.opened != 0 || s.focus != paneTree {
		t.Errorf("enter leaves %d open, pane %d", s.opened, s.focus)
	}
}

// TestChoosingARun shows another run, and takes no update of the one before it.
func TestChoosingARun(t *testing.T) {
	s := shows(anUpdate(), 80, 24)
	late := anUpdate()
	late.asked = s.wanted
	press(s, "r")
	press(s, "down")
	if e := press(s, "enter"); !e.poll || s.wanted != "QX2K7A9B3C" || s.cover != coverNone {
		t.Fatalf("%+v, wanted %q", e, s.wanted)
	}
	if e := s.apply(late); !e.poll || s.picture.run != nil {
		t.Error("an update of another run is taken")
	}
	run := pastRun()
	s.apply(update{at: noon, asked: run.ID, run: &run, whole: true, runs: []journal.Run{aRun(), run}})
	if s.picture.run.ID != run.ID || s.selected != 0 {
		t.Errorf("run %s, selected %d", s.picture.run.ID, s.selected)
	}
}

// TestDetailIsRenewed reads an open execution again once it has changed.
func TestDetailIsRenewed(t *testing.T) {
	s := shows(anUpdate(), 120, 30)
	press(s, "enter")
	s.loaded(9, s.picture.find(9), nil)
	s.loaded(5, s.picture.find(5), nil) // late, of another
	if s.detail.execution.ID != 9 {
		t.Fatal("the details are of another")
	}
	same := anUpdate()
	same.asked = s.wanted
	if e := s.apply(same); e.load != 0 {
		t.Error("what has not changed is read again")
	}
	changed := anUpdate()
	changed.asked, changed.whole = s.wanted, false
	e := changed.executions[7]
	e.Revision, e.Status = 20, "ok"
	changed.executions = []journal.Execution{e}
	if e := s.apply(changed); e.load != 9 {
		t.Errorf("what has changed is not read again: %+v", e)
	}
}

// TestNarrowDetail holds that no key acts on a tree that an open execution covers.
func TestNarrowDetail(t *testing.T) {
	for keys, open := range map[string]bool{"enter tab": false, "enter /": false, "enter b": false, "enter f": false, "enter a": false, "enter down": true} {
		s := shows(anUpdate(), 80, 24)
		for key := range strings.FieldsSeq(keys) {
			press(s, key)
		}
		if (s.opened != 0) != open || !open && s.focus != paneTree {
			t.Errorf("%q: %d is open, pane %d has the keys", keys, s.opened, s.focus)
		}
	}
	s := shows(anUpdate(), 120, 24)
	press(s, "enter")
	press(s, "tab")
	s.width = 80
	if press(s, "up"); s.selected != 9 || s.focus != paneDetail {
		t.Errorf("made narrow: %d is selected, pane %d", s.selected, s.focus)
	}
}

// TestAllExecutions shows beside trials what is none, and trials only again.
func TestAllExecutions(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}, executions: append([]journal.Execution{execution(1, 0, first, 1, "prep()", "error")}, anExperiment()...)}
	p := polls(f)
	s := newScreen(Options{})
	s.apply(p.poll(t.Context(), s.ask()))
	for _, want := range []int{9, 8} {
		late := p.poll(t.Context(), s.ask())
		if e := press(s, "a"); !e.poll {
			t.Fatal("nothing is read")
		}
		s.apply(late)
		s.apply(p.poll(t.Context(), s.ask()))
		if len(s.rows) != want {
			t.Errorf("%d rows, not %d", len(s.rows), want)
		}
		if press(s, "b"); s.selected != 5 {
			t.Errorf("the best is %d", s.selected)
		}
	}
}

// TestChoosingBack shows a run whole again when the one chosen after it can't be read.
func TestChoosingBack(t *testing.T) {
	f := &fakeSource{runs: []journal.Run{aRun()}, executions: anExperiment()}
	p := polls(f)
	s := newScreen(Options{})
	look := func() effect { return s.apply(p.poll(t.Context(), s.ask())) }
	look()
	s.choose(pastRun())
	late := p.poll(t.Context(), ask{run: aRun().ID})
	s.choose(aRun())
	if e := s.apply(late); !e.poll || s.picture.run != nil {
		t.Error("a look that is not whole is taken for the first")
	}
	s.choose(pastRun())
	look()
	s.choose(aRun())
	if look(); len(s.rows) != len(anExperiment()) {
		t.Errorf("%d rows", len(s.rows))
	}
}
