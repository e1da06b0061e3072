package live

import (
	"slices"
	"strings"
	"testing"

	"understudy/internal/journal"
)

// press presses a key that may write a character.
func press(s *screen, key string) (quit bool) {
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
		{"b down down down", 7},
		{"pgup f", 9}, // follows again
		{"/ b u g enter up", 3},
		{"/ b u g", 6},     // the last one that the filter leaves
		{"/ b u g esc", 9}, // still follows
		{"/ z z backspace backspace enter g", 2},
		{"/ x enter b", 5},
	} {
		s := shows(aPicture(), 80, 24)
		for key := range strings.FieldsSeq(test.keys) {
			press(s, key)
		}
		expect(t, s.selected == test.want, "%q selects %d, not %d", test.keys, s.selected, test.want)
	}
}

// TestHeadings holds that no heading of an experiment is selected.
func TestHeadings(t *testing.T) {
	p := aPicture()
	for i := 4; i < len(p.executions); i++ {
		p.executions[i].Trial.Experiment = "e2"
	}
	s := shows(p, 80, 24)
	for _, test := range []struct {
		key  string
		want string
	}{{"home", "#1"}, {"up", "#1"}, {"down", "#2"}, {"down", "#3"}, {"down", "#4"}, {"down", "#5"}, {"up", "#4"}, {"up", "#3"}} {
		press(s, test.key)
		if e := s.picture.find(s.selected); name(e) != test.want {
			t.Errorf("%s selects %s, not %s", test.key, name(e), test.want)
		}
	}
}

// TestFollowing holds that what is new is selected until the reader moves.
func TestFollowing(t *testing.T) {
	s := shows(aPicture(), 80, 24)
	take := func(e journal.Execution) {
		t.Helper()
		p := aPicture()
		p.executions = append(slices.Clone(s.picture.executions), e)
		s.take(p)
	}
	take(trial(execution(10, 5, first, 8, "x", "ok"), 9, 5, "improve", "newest", 0.5))
	expect(t, s.selected == 10, "%d is selected, not the newest", s.selected)
	press(s, "up")
	at := s.selected
	take(trial(execution(11, 5, first, 9, "x", "ok"), 10, 5, "improve", "newest", 0.5))
	expect(t, s.selected == at, "%d is selected, not %d where the reader was", s.selected, at)
}

func TestQuitting(t *testing.T) {
	for _, keys := range []string{"q", "ctrl+c", "/ ctrl+c", "? ctrl+c", "enter q", "? esc q", "/ q enter q"} {
		s := shows(aPicture(), 80, 24)
		fields := strings.Fields(keys)
		for i, key := range fields {
			quit := press(s, key)
			expect(t, quit == (i == len(fields)-1), "%q: after %q quit is %v", keys, key, quit)
		}
	}
}

// TestOpening shows an execution, and scrolls it while it is open.
func TestOpening(t *testing.T) {
	s := shows(aPicture(), 80, 24)
	press(s, "enter")
	if s.opened != 9 || !strings.Contains(s.view(), "reading …") {
		t.Errorf("%d is asked for:\n%s", s.opened, s.view())
	}
	p := aPicture()
	p.opened = &p.executions[7]
	s.take(p)
	view := s.view()
	expect(t, strings.Contains(view, "Trial #8 (improve)") && strings.Contains(view, "The last output so far"), "%v", view)
	s.height = 8
	press(s, "end")
	if view := s.view(); strings.Contains(view, "Trial #8") || !strings.Contains(view, "epoch 3 loss 0.2") {
		t.Error(view)
	}
	if press(s, "esc"); s.opened != 0 || s.selected != 9 {
		t.Errorf("%d is open, %d selected", s.opened, s.selected)
	}
}

// TestAllExecutions shows beside trials what is none, and trials only again.
func TestAllExecutions(t *testing.T) {
	p := aPicture()
	p.executions = append([]journal.Execution{execution(1, 0, first, 1, "prep()", "error")}, p.executions...)
	p.run.Executions = 9
	s := shows(p, 80, 24)
	title := s.treeTitle()
	expect(t, strings.Contains(title, "8 trials; 1 other execution not shown"), "%v", title)
	for _, want := range []int{9, 8} {
		if press(s, "a"); len(s.rows) != want {
			t.Errorf("%d rows, not %d", len(s.rows), want)
		}
		if press(s, "b"); s.selected != 5 {
			t.Errorf("the best is %d", s.selected)
		}
	}
}
