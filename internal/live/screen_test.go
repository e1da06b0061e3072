package live

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"understudy/internal/journal"
	"understudy/sessions"
)

var renew = flag.Bool("update", false, "rewrite what is expected in testdata")

// shows makes a screen of a size that has seen a picture.
func shows(p picture, width, height int) *screen {
	s := newScreen(Options{Path: "/home/ada/.local/share/understudy/journal.db"})
	s.width, s.height = width, height
	s.take(p)
	return s
}

// golden compares a text, but for spaces at line ends, with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n")
	file := filepath.Join("testdata", name+".txt")
	if *renew {
		must(t, os.WriteFile(file, []byte(got+"\n"), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	diff := cmp.Diff(string(want), got+"\n")
	expect(t, diff == "", "%s (-want +got; go test ./internal/live -update rewrites it):\n%s", name, diff)
}

// states are executions without trials: a line, an undo, a branch.
func states() picture {
	u := aPicture()
	u.run.Trials, u.run.Steps = 0, 0
	u.executions = []journal.Execution{
		execution(1, 0, first, 1, "\n\nimport pandas as pd", sessions.StatusOK),
		execution(2, 1, first, 2, "df = pd.read_csv('a.csv')", sessions.StatusOK),
		execution(3, 2, first, 3, "df.drop(", sessions.StatusError),
		execution(4, 3, first, 4, "os.abort()", sessions.StatusCrashed),
		execution(5, 3, branch, 1, "df.describe()", sessions.StatusOK),
		execution(6, 5, branch, 2, "df.plot()", sessions.StatusOK),
	}
	return u
}

// killed is the experiment after its server was killed.
func killed() picture {
	u := aPicture()
	u.run.Alive, u.heartbeats = false, nil
	last := &u.executions[len(u.executions)-1]
	last.Status, last.Trial.Buggy, last.Trial.Why = journal.StatusLost, true, "its server was killed while it ran"
	return u
}

func TestViews(t *testing.T) {
	ended := aPicture()
	ended.run.Alive, ended.run.Ended, ended.heartbeats = false, noon.Add(-time.Minute), nil
	crowd := aPicture()
	for i := range 8 {
		p := someHeartbeats()[0]
		p.Execution = 10 + i
		crowd.heartbeats = append(crowd.heartbeats, p)
	}
	for _, test := range []struct {
		name          string
		u             picture
		width, height int
		keys          string
	}{
		{"experiment_160", aPicture(), 160, 30, ""},
		{"experiment_80", aPicture(), 80, 30, ""},
		{"experiment_40", aPicture(), 40, 24, ""},
		{"tiny", aPicture(), 40, 5, ""},
		{"states_80", states(), 80, 34, ""},
		{"killed_160", killed(), 160, 20, ""},
		{"ended_80", ended, 80, 24, ""},
		{"crowd_100", crowd, 100, 30, ""},
		{"waiting_60", picture{at: noon, problem: errNothing}, 60, 12, ""},
		{"problem_60", picture{at: noon, problem: fmt.Errorf("the disk is gone")}, 60, 6, ""},
		{"help_80", aPicture(), 80, 24, "?"},
		{"filter_80", aPicture(), 80, 16, "/ b u g"},
	} {
		s := shows(test.u, test.width, test.height)
		for key := range strings.FieldsSeq(test.keys) {
			press(s, key)
		}
		golden(t, test.name, s.view())
	}
}

// TestDetails opens an execution with everything that one can have.
func TestDetails(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {50, 44}} {
		s := shows(aPicture(), size[0], size[1])
		press(s, "b")
		if press(s, "enter"); s.opened != 5 {
			t.Fatalf("enter opens %d, not 5", s.opened)
		}
		e := *s.picture.find(5)
		e.Detail = &journal.Detail{
			Record: sessions.Result{Result: []byte(`0.91236`), Traceback: "Traceback (most recent call last):\n\x1b[31mValueError\x1b[0m: no", Notes: []string{"a note"}},
			Stdout: journal.Output{Path: "/home/ada/journal.db.files/K3F9A2B7QX/5.out"}, TermOut: []string{"fold 1: 0.91\n", "fold 2: 0.92\n"},
			Figures:   []journal.Figure{{Figure: sessions.Figure{Title: "Importances"}, File: "/home/ada/journal.db.files/K3F9A2B7QX/a.png"}},
			Artifacts: []journal.Artifact{{Artifact: sessions.Artifact{Name: "scores", Path: "/w/scores.csv"}}},
		}
		p := aPicture()
		p.opened = &e
		s.take(p)
		golden(t, fmt.Sprintf("detail_%d", size[0]), s.view())
	}
}

// TestEverySize holds that a view is as high as the terminal and never wider.
func TestEverySize(t *testing.T) {
	many := states()
	for id := int64(7); id < 60; id++ { // each a branch of the one before it
		many.executions = append(many.executions, execution(id, id-1, first, int(id), "x = '日本語'", sessions.StatusOK), execution(id+1000, id-1, first, int(id)+1000, "y", sessions.StatusError))
	}
	for _, u := range []picture{aPicture(), many, killed(), {at: noon, problem: errNothing}} {
		for _, keys := range [][]string{nil, {"enter"}, {"?"}, {"/", "x"}, {"b", "enter"}} {
			s := shows(u, 80, 24)
			s.styles = newStyles(true)
			for _, key := range keys {
				press(s, key)
			}
			s.picture.opened = s.picture.find(s.opened)
			for _, width := range []int{1, 2, 7, 20, 40, 79, 99, 100, 101, 160, 200} {
				for _, height := range []int{1, 2, 3, 4, 5, 6, 8, 12, 13, 24, 50} {
					s.width, s.height = width, height
					lines := strings.Split(s.view(), "\n")
					insist(t, len(lines) == height, "%d x %d, keys %v: %d lines", width, height, keys, len(lines))
					for _, l := range lines {
						w := ansi.StringWidth(l)
						insist(t, w <= width, "%d x %d, keys %v: %d columns: %q", width, height, keys, w, l)
					}
				}
			}
		}
	}
}

// TestSnapshot holds what --once prints.
func TestSnapshot(t *testing.T) {
	s := shows(aPicture(), 80, 24)
	golden(t, "snapshot", strings.TrimSuffix(s.snapshot(), "\n"))
}

// TestDeepTrials holds that a long line of trials leaves room for their plans, and
// that its rows do not grow with their depth.
func TestDeepTrials(t *testing.T) {
	u := aPicture()
	u.executions = nil
	const depth = 1000
	for id := int64(1); id <= depth; id++ {
		u.executions = append(u.executions, trial(execution(id, id-1, first, int(id), "x", sessions.StatusOK), int(id), id-1, sessions.StageImprove, "plan of the trial", 0.5))
	}
	s := shows(u, 120, 30)
	view := s.view()
	expect(t, strings.Contains(view, "#1000 I  plan of the trial"), "the plan has no room:\n%s", view)
	for _, r := range s.rows {
		n := len([]rune(r.guide))
		insist(t, n <= mostGuide+2, "a guide has %d characters", n)
	}
	text := s.progress(120)
	expect(t, strings.HasPrefix(text, "1,000 trials, 20 planned"), "progress: %q", text)
}

// TestRoomForWhatRuns names all that runs on a small terminal.
func TestRoomForWhatRuns(t *testing.T) {
	u := aPicture()
	u.executions, u.heartbeats = u.executions[:1], nil
	for i := range 3 {
		p := someHeartbeats()[0]
		p.Execution, p.Code = 10+i, strings.Repeat("work()\n", 9)
		u.heartbeats = append(u.heartbeats, p)
	}
	view := shows(u, 80, 24).view()
	for _, want := range []string{"3fa9c1@10", "3fa9c1@11", "3fa9c1@12", "Interpreters", "Logistic"} {
		expect(t, strings.Contains(view, want), "%s is not seen:\n%s", want, view)
	}
}

// TestHelpScrolls shows all of the help on a low terminal.
func TestHelpScrolls(t *testing.T) {
	s := shows(aPicture(), 80, 10)
	press(s, "?")
	last := helpText[len(helpText)-1]
	insist(t, !strings.Contains(s.view(), last), "the terminal is not low")
	if press(s, "end"); !strings.Contains(s.view(), last) {
		t.Errorf("its end is not seen:\n%s", s.view())
	}
}

// TestTreePageIsNamed whole on the usual screen, so that it can be opened.
func TestTreePageIsNamed(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	u := aPicture()
	for i := range u.executions {
		u.executions[i].Trial.Experiment = u.run.ID
	}
	const page = "\n~/.local/share/understudy/experiments/20260701-114800-K3F9A2B7QX/tree_plot.html\n"
	got := ansi.Strip(shows(u, 80, 24).view())
	expect(t, strings.Contains(got, page), "%v", got)
}
