package screen

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsWhatATerminalShows(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"plain\ttext\n\n":                   "plain\ttext\n\n",
		"\x1b[1;31mred\x1b[0m\n":            "red\n",
		"\x1b]0;title\x07a\x1b]8;;u\x1b\\b": "ab",
		"10%\r50%\r100%\nnext\r\n":          "100%\nnext\n",
		"100%\r50%\n":                       "50%%\n",
		"50%\r":                             "50%",
		"abc\b\bX\n":                        "aXc\n",
		"a\x00\x07\f\u009bb":                "ab",
		"long line\r\x1b[Kshort\n":          "short\n",
		"long line\r\x1b[2K\rx":             "x",
		"bar\r   \rdone\n":                  "done\n",
		"bar\r   \r":                        "",
		"one\ntwo\x1b[A\rONE\n":             "ONE\ntwo",
		"a\x1b[20Gb\x1b[999999999Cc":        "a b c",
		"a\x1b[999999999Bb":                 "ab",
		"old\n\x1b[H\x1b[2Jnew\n":           "new\n",
		"\x1b(Ba\x1bMb\x1b=c":               "abc",
		"cut \x1b[3":                        "cut ",
		"cut \x1b]8;;http":                  "cut ",
		"cut \x1b]8;;http\nnext":            "cut \nnext",
		"end \x1b":                          "end ",
		"é€😀\ra":                            "a€😀",
		"x\nx\nx\n":                         "x\nx\nx\n",
		strings.Repeat("same line\n", 500):  "same line\n[the line above 499 times more]\n",
		strings.Repeat("a warning\n  a line of it\n", 40) + "end": "a warning\n  a line of it\n[the 2 lines above 39 times more]\nend",
		strings.Repeat("\n", 9):                                   strings.Repeat("\n", 9),
		// Two bars of tqdm, one in the other.
		"\r0/2:   0%\n\r  0/4: 0%\x1b[A\n\r  4/4: 100%\x1b[A\n\r            \x1b[A\r2/2: 100%\n": "2/2: 100%\n",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q shows %q, want %q", text, got, want)
		}
	}
}

func TestMarksAreObeyed(t *testing.T) {
	const (
		clearAll, wait, end = "\x1b]5379;clear\x07", "\x1b]5379;clear-wait\x07", "\x1b]5379;end\x07"
		displayA            = "\x1b]5379;display;a\x07"
		updateA             = "\x1b]5379;update;a\x07"
	)
	for text, want := range map[string]string{
		"gone\n" + clearAll + "kept\n": "kept\n",
		"gone\n" + clearAll:            "",
		"stays\n" + wait:               "stays\n",
		"gone\n" + wait + "next\n":     "next\n",
		"over\n" + displayA + "one\n" + end + "below\n" + updateA + "2\n" + end: "over\n2\nbelow\n",
		displayA + "1\n" + end + displayA + "1\n" + end + updateA + "2\n" + end: "2\n2\n",
		displayA + "1\n" + end + updateA + "2\n" + end + displayA + "3\n" + end: "2\n3\n",
		updateA + "of an earlier answer\n" + end + updateA + "again\n" + end:    "again\n",
		displayA + "1\n" + end + clearAll + updateA + "2\n" + end + "x":         "x",
		displayA + "1\n" + end + updateA + "not yet":                            "not yet",
		"a\x1b]5379;dis": "a",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q shows %q, want %q", text, got, want)
		}
		if got := Unmarked(text); marks.MatchString(got) {
			t.Errorf("marks are left in %q", got)
		}
	}
}

func TestStreamsKeepTheirOrder(t *testing.T) {
	for name, test := range map[string]struct{ pieces, want []Piece }{
		"none": {nil, nil},
		"in turn": {
			[]Piece{{0, "a\n", 0}, {1, "b\n", 0}, {0, "c\n", 0}, {0, "d\n", 0}},
			[]Piece{{0, "a\n", 0}, {1, "b\n", 0}, {0, "c\nd\n", 0}},
		},
		"a bar beside prints": {
			[]Piece{{1, "\r 0%", 0}, {0, "one\n", 0}, {1, "\r 50%", 0}, {0, "two\n", 0}, {1, "\r100%\n", 0}},
			[]Piece{{0, "one\ntwo\n", 0}, {1, "100%\n", 0}},
		},
		"bars in bars beside prints": {
			[]Piece{{1, "log\n\rall: 0%\n\r in: 1\x1b[A", 0}, {0, "one\n", 0}, {1, "\n\r      \x1b[A\rall: 50%", 0}, {0, "two\n", 0}, {1, "\rall: 99%\n", 0}},
			[]Piece{{1, "log\n", 0}, {0, "one\ntwo\n", 0}, {1, "all: 99%\n", 0}},
		},
		"words are no bar": {
			[]Piece{{1, "what: ", 0}, {0, "one\n", 0}, {1, "\rb", 0}},
			[]Piece{{1, "what: ", 0}, {0, "one\n", 0}, {1, "b", 0}},
		},
		"cleared across streams": {
			[]Piece{{1, "err\n", 0}, {0, "out\n\x1b]5379;clear\x07end\n", 0}},
			[]Piece{{0, "end\n", 0}},
		},
		"a mark cut in two": {
			[]Piece{{0, "a\n\x1b]5379;displ", 0}, {0, "ay;x\x07b\n", 70}},
			[]Piece{{0, "a\n", 0}, {0, "b\n", 70}},
		},
		"cleared with what was left out": {
			[]Piece{{0, "a\n", 0}, {0, "b\n\x1b]5379;clear\x07c\n", 70}},
			[]Piece{{0, "c\n", 0}},
		},
	} {
		if diff := cmp.Diff(test.want, Show(test.pieces)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAnyTextIsShownShort: whatever is printed, what is shown is no longer, has no control
// characters in it, and is shown as it is.
func TestAnyTextIsShownShort(t *testing.T) {
	words := []string{"a", "word ", "\n", "\r", "\b", "\x1b[A", "\x1b[K", "\x1b[9999G", "\x1b[5C", "\x1b[2J", "\x1b[1K", "\x1b[3B", "\x1b]5379;clear-wait\x07",
		"\x1b]5379;display;a\x07", "\x1b]5379;update;a\x07", "\x1b]5379;end\x07", "\x1b]8;;", "\x1b", "é", "same\n", "same\nsame\nsame\nsame\nsame\nsame\nsame\nsame\nsame\nsame\n", "\x07"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var pieces []Piece
		size := 0
		for range random.IntN(5) {
			var b strings.Builder
			for range random.IntN(30) {
				b.WriteString(words[random.IntN(len(words))])
			}
			pieces = append(pieces, Piece{Stream: random.IntN(2), Text: b.String()})
			size += b.Len()
		}
		shown, length := Show(pieces), 0
		for _, p := range shown {
			length += len(p.Text)
			if strings.ContainsFunc(p.Text, isControl) || !utf8.ValidString(p.Text) {
				t.Fatalf("%q shows %q", join(pieces), p.Text)
			}
			if again := Text(p.Text); again != p.Text {
				t.Fatalf("%q is shown as %q", p.Text, again)
			}
		}
		// An update is shown in each place of its display.
		if !strings.Contains(join(pieces), "update") && length > size {
			t.Fatalf("%q of %d bytes shows %q of %d", join(pieces), size, join(shown), length)
		}
	}
}

func TestUpdatesDoNotMultiplyText(t *testing.T) {
	text := strings.Repeat("\x1b]5379;display;a\x07\x1b]5379;end\x07", 10_000) + "\x1b]5379;update;a\x07" + strings.Repeat("x", 100_000)
	if n := len(Text(text)); n > 3*len(text) {
		t.Errorf("%d bytes show %d", len(text), n)
	}
}

func join(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Text)
	}
	return b.String()
}

func TestSplitterFindsMarksInAnyChunks(t *testing.T) {
	const text = "a\x1b]5379;clear\x07b\x1b[0mc\x1b]5379;display;x\x07d\x1b]5379;end\x07\x1b]5379;other\x07\x1b]53"
	const want = "ab\x1b[0mcd\x1b]5379;other\x07\x1b]53"
	for size := 1; size <= len(text); size++ {
		var s Splitter
		var plain, found string
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			s.Split([]byte(rest[:min(size, len(rest))]), func(p []byte, mark bool) {
				if mark {
					found += string(p)
				} else {
					plain += string(p)
				}
			})
		}
		plain += string(s.Flush())
		if plain != want || strings.Count(found, "\x07") != 3 {
			t.Fatalf("in chunks of %d: %q and %q", size, plain, found)
		}
	}
}
