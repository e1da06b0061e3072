package live

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ what, text, want string }{
		{"plain", "x = 1\nprint(x)", "x = 1\nprint(x)"},
		{"colours", "\x1b[31mred\x1b[0m", "red"},
		{"a title", "a\x1b]0;owned\ab", "ab"},
		{"a link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a title without an end hides nothing", "a\x1b]0;owned", "a0;owned"},
		{"a picture", "\x1bPq#0;2;0\x1b\\after", "after"},
		{"cursor and screen", "\x1b[2J\x1b[1;1Htop\x1bc", "top"},
		{"character set", "\x1b(0lqk", "lqk"},
		{"an escape at the end", "a\x1b", "a"},
		{"half a sequence", "a\x1b[31", "a31"},
		{"a sequence of eight bits", "a\u009b31mb", "a31mb"},
		{"tabs", "\tx\ty", "    x   y"},
		{"a bar that is overwritten", "10%\r50%\r100%\nnext", "100%\nnext"},
		{"backspaces", "100%\b\b\b\b 20%\b", " 20%"},
		{"backspaces at a line's beginning", "日本\n語\b\b\b\bx\t|", "日本\nx   |"},
		{"backspaces over marks", "ae\u0301\b\u0301b", "ab"},
		{"an end of line of Windows", "a\r\nb\r\n", "a\nb\n"},
		{"control characters", "a\x00b\x07c\x7fd", "abcd"},
		{"other directions", "a\u202eb\u2066c\u200fd", "abcd"},
		{"marks", "e\u0301", "e\u0301"},
		{"too many marks", "e" + strings.Repeat("\u0301", 50), "e" + strings.Repeat("\u0301", mostMarks)},
		{"wide", "日本語", "日本語"},
		{"emoji that are joined", "\U0001F468\u200d\U0001F469\ufe0f", "\U0001F468\U0001F469"},
		{"other line ends", "a\u2028b\u0085c", "abc"},
		{"broken UTF-8", "a\xffb", "a\ufffdb"},
	} {
		if got := clean(test.text); got != test.want {
			t.Errorf("%s: %q became %q, not %q", test.what, test.text, got, test.want)
		}
	}
}

// FuzzClean holds that nothing reaches a terminal which it would act on.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[31mred", "a\rb", "a\bb\b", "\x1b]0;t\a", "\x1b\x1b[[31m", "\xff\x9b", "e\u0301\u202e", "\x1bP\x1b\\\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if !utf8.ValidString(got) {
			t.Errorf("%q became %q, which is not UTF-8", text, got)
		}
		for _, r := range got {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Errorf("%q became %q, which has %U", text, got, r)
			}
		}
		if again := clean(got); again != got {
			t.Errorf("%q became %q, and that %q", text, got, again)
		}
		if stripped := ansi.Strip(got); stripped != got {
			t.Errorf("%q became %q, which has sequences: without them %q", text, got, stripped)
		}
		if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 && got != text {
			t.Errorf("%q is plain and became %q", text, got)
		}
	})
}
