package main

import (
	"errors"
	"os"
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
		"| ours | 2.00 s | 1.00 s – 3.00 s | 3      | 10× less than theirs |",
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
	for _, args := range [][]string{{"-only", "wram"}, {"-only", "warm", "-write"}, {"-rounds", "0"}, {"more"}} {
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
