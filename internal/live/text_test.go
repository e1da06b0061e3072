package live

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// TestClean holds that nothing of a text acts on a terminal, and nothing else goes.
func TestClean(t *testing.T) {
	for _, test := range []struct{ what, text, want string }{
		{"plain", "x = 1\nprint(x)", "x = 1\nprint(x)"},
		{"sequences are seen as text", "a\x1b]0;owned\a\x1b[2Jb\x1bc", "a]0;owned[2Jbc"},
		{"sequences of eight bits", "a\u009b31mb\u009d0;b", "a31mb0;b"},
		{"tabs", "\tx", "    x"},
		{"an end of line of Windows", "a\r\nb\r\n", "a\nb\n"},
		{"control characters", "a\x00b\x07c\x7fd\be", "abcde"},
		{"other directions", "a\u202eb\u2066c\u200fd", "abcd"},
		{"marks", "e\u0301", "e\u0301"},
		{"too many marks", "e" + strings.Repeat("\u0301", 50), "e" + strings.Repeat("\u0301", mostMarks)},
		{"wide", "日本語", "日本語"},
		{"emoji that are joined", "\U0001F468\u200d\U0001F469\ufe0f", "\U0001F468\U0001F469"},
		{"other line ends", "a\u2028b\u0085c", "abc"},
		{"broken UTF-8", "a\xffb", "a\ufffdb"},
	} {
		got := clean(test.text)
		expect(t, got == test.want, "%s: %q became %q, not %q", test.what, test.text, got, test.want)
	}
}

// FuzzClean holds that nothing reaches a terminal which it would act on.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[31mred", "a\rb", "a\bb\b", "\x1b]0;t\a", "\x1b\x1b[[31m", "\xff\x9b", "e\u0301\u202e", "\x1bP\x1b\\\t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		expect(t, utf8.ValidString(got), "%q became %q, which is not UTF-8", text, got)
		for _, r := range got {
			expect(t, r == '\n' || unicode.IsGraphic(r), "%q became %q, which has %U", text, got, r)
		}
		again := clean(got)
		expect(t, again == got, "%q became %q, and that %q", text, got, again)
		stripped := ansi.Strip(got)
		expect(t, stripped == got, "%q became %q, which has sequences: without them %q", text, got, stripped)
		if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 && got != text {
			t.Errorf("%q is plain and became %q", text, got)
		}
	})
}
