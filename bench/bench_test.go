package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values values
		want   float64
	}{
		{values{3}, 3},
		{values{9, 1, 5}, 5},
		{values{4, 1, 2, 100}, 3},
	} {
		before := append(values(nil), c.values...)
		if got := c.values.median(); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
		if !cmp.Equal(before, c.values) { // they are paired by their rounds
			t.Errorf("median reordered %v to %v", before, c.values)
		}
	}
}

func TestRoundsTakeTurnsAndDropTheWarmUp(t *testing.T) {
	var order string
	count := 0.0
	say := func(name string) contender {
		return contender{name, func() (float64, error) { order += name; count++; return count, nil }}
	}
	all, err := rounds(2, []contender{say("a"), say("b")})
	if err != nil {
		t.Fatal(err)
	}
	if want := "ab" + "ba" + "ab"; order != want {
		t.Errorf("the order was %s, want %s", order, want)
	}
	if want := []values{{4, 5}, {3, 6}}; !cmp.Equal(all, want) {
		t.Errorf("the values are %v, want %v", all, want)
	}
}

func TestRoundsSayWhoFailed(t *testing.T) {
	broken := errors.New("broken")
	_, err := rounds(1, []contender{{"the culprit", func() (float64, error) { return 0, broken }}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "the culprit") {
		t.Errorf("got %v", err)
	}
}

func TestUnitsFollowTheScale(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{seconds(1.234, 1.234), "1.23 s"},
		{seconds(0.0183, 0.0183), "18 ms"},
		{seconds(0.00456, 0.00456), "4.56 ms"},
		{seconds(0.0012, 0.0004), "1200 µs"},
		{size(99.94e6, 99.94e6), "99.9 MB"},
		{size(123.4e6, 123.4e6), "123 MB"},
		{size(5.678e9, 5.678e9), "5.68 GB"},
		{compare(1, 20), "20× less"},
		{compare(3, 2), "1.50× more"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestReportGoesBetweenTheMarks(t *testing.T) {
	document := "before\n" + beginMark + "\nold\n" + endMark + "\nafter\n"
	got, err := between([]byte(document), "new\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + beginMark + "\nnew\n" + endMark + "\nafter\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := between([]byte("no marks"), "new"); err == nil {
		t.Error("a document without marks was changed")
	}
}

func TestMarkdownSaysWhatIsNotMet(t *testing.T) {
	r := report{}
	r.aim(target{"one", "at least 2", "3", true})
	r.aim(target{"other", "at least 2", "1", false})
	r.add(table{title: "Times", unit: seconds, rows: []row{{"ours", values{1, 2, 3}, values{20}, "theirs"}}})
	text := r.markdown()
	for _, line := range []string{
		"| one    | at least 2 | 3        | met         |",
		"| other  | at least 2 | 1        | **not met** |",
		"| ours      | 2.00 s | 1.00 s – 3.00 s | 3      | 10× less than theirs |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%q is missing from:\n%s", line, text)
		}
	}
}

func TestOnlyNamesSections(t *testing.T) {
	_, chosen, err := parse([]string{"-only", "warm,start"})
	if err != nil || !cmp.Equal(names(chosen), []string{"warm", "start"}) {
		t.Errorf("got %v, %v", names(chosen), err)
	}
	for _, args := range [][]string{{"-only", "wram"}, {"-only", "warm", "-write"}, {"-sessions", "9", "-write"}, {"-sessions", "0"}, {"-rounds", "0"}, {"more"}} {
		if _, _, err := parse(args); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestDocumentHasTheMarks(t *testing.T) {
	document, err := os.ReadFile("../" + documentPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := between(document, "new"); err != nil {
		t.Error(err)
	}
}

func TestPrintCodePrintsSoMuch(t *testing.T) {
	want := "line = 'x' * 99\nfor i in range(1000000): print(line)"
	if got := printCode(printed, 100); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTargetsAreMetAtTheirLimit(t *testing.T) {
	for _, c := range []struct {
		target target
		met    bool
	}{
		{atLeast("", 100, 100), true},
		{atLeast("", 99, 100), false},
		{atMost("", 3, 3), true},
		{atMost("", 3.1, 3), false},
	} {
		if c.target.met != c.met {
			t.Errorf("wanted %s, measured %s: met is %v", c.target.wanted, c.target.measured, c.target.met)
		}
	}
}

func TestCrowdSizesEndWithTheMost(t *testing.T) {
	for most, want := range map[int][]int{1: {1}, 10: {1, 10}, 60: {1, 10, 60}, 1000: {1, 10, 100, 1000}} {
		if got := crowdSizes(most); !cmp.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	}
}

// someCrowd is what the section many may have found.
func someCrowd() *crowd {
	c := &crowd{steps: []crowdStep{
		{size: 1, creates: values{0.02}, asked: values{0.01}, call: 0.001, once: weight{1e8, 1e8, 6}, twice: weight{1e8, 1e8, 7}},
		{size: 25, creates: make(values, 24), asked: make(values, 25), call: 0.001, once: weight{2e8, 3e8, 54}, twice: weight{2e8, 3e8, 79}},
	}}
	for i := range 25 {
		c.creates = append(c.creates, float64(i+1)/1000)
	}
	return c
}

func TestCurvesFollowTheNumbers(t *testing.T) {
	c := someCrowd()
	want := line{
		Name: "median and range of 20 sessions",
		X:    []float64{20, 25}, Y: []float64{10.5, 23}, Low: []float64{1, 21}, High: []float64{20, 25},
	}
	if got := c.createCurve().Lines[0]; !cmp.Equal(got, want, cmp.Comparer(closeTo)) {
		t.Error(cmp.Diff(want, got))
	}
	r := report{}
	r.add(c.memoryTable(1e8))
	if text := r.markdown(); !strings.Contains(text, "\n![Memory by number of sessions](images/bench-sessions-memory.svg)\n") {
		t.Errorf("the drawing is missing from:\n%s", text)
	}
}

func closeTo(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestCrowdStopsWhereMemoryEnds(t *testing.T) {
	c := someCrowd() // 12 MB a session
	for before, want := range map[float64]bool{3e9: false, 20e9: true} {
		if c.before = before; c.hasRoom(1000) != want {
			t.Errorf("with %s, room for 1,000 sessions is %v", size(before, before), !want)
		}
	}
}

func TestCurvesAreDrawn(t *testing.T) {
	python := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if python == "" || exec.Command(python, "-c", "import matplotlib").Run() != nil {
		t.Skip("needs matplotlib in the Python that UNDERSTUDY_TEST_PYTHON names")
	}
	r := report{}
	c := someCrowd()
	r.add(c.memoryTable(1e8))
	r.add(c.timeTable())
	dir := t.TempDir()
	if err := r.draw(context.Background(), python, dir); err != nil {
		t.Fatal(err)
	}
	for _, table := range r.tables {
		drawn, err := os.ReadFile(filepath.Join(dir, table.curve.File))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{table.curve.Title, table.curve.X.Label, table.curve.Lines[0].Name} {
			// An apostrophe is written as an entity.
			if before, _, _ := strings.Cut(text, "'"); !strings.Contains(string(drawn), before) {
				t.Errorf("%s does not show %q", table.curve.File, text)
			}
		}
		if len(drawn) > 60_000 {
			t.Errorf("%s has %d bytes", table.curve.File, len(drawn))
		}
	}
}

func TestFamilyHasGrandchildren(t *testing.T) {
	if !canMeasureMemory() {
		t.Skip("reads /proc")
	}
	// The shell's child says that it is there; both live until their input ends.
	child, err := startChild(context.Background(), t.TempDir(), "sh", "-c", "cat; true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := child.close(); err != nil {
			t.Error(err)
		}
	}()
	if _, _, err := child.exchange([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	shell := child.cmd.Process.Pid
	family, err := descendants(os.Getpid())
	if err != nil || !slices.Contains(family, shell) || len(family) < 2 {
		t.Fatalf("the descendants are %v (%v), without %d or its child", family, err, shell)
	}
	if sum, processes, err := familyMemory(shell); err != nil || processes != 2 || sum <= 0 {
		t.Errorf("the shell and its child use %v bytes in %d processes (%v)", sum, processes, err)
	}
	if parent, alive := parentOf(shell); parent != os.Getpid() || !alive {
		t.Errorf("the shell's parent is %d, alive %v", parent, alive)
	}
}
