package answer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	long := strings.Repeat("é", 100)
	for name, test := range map[string]struct {
		text    string
		limit   int
		earlier int64
		want    string
		dropped int64
	}{
		"fits":         {"abc", 3, 0, "abc", 0},
		"empty":        {"", 0, 0, "", 0},
		"cut":          {long, 51, 0, strings.Repeat("é", 12) + "\n[77 characters truncated]\n" + strings.Repeat("é", 11), 77},
		"no room":      {long, 5, 0, "\n[100 characters truncated]\n", 100},
		"marked, fits": {"head\n[7 characters truncated]\ntail", 40, 7, "head\n[7 characters truncated]\ntail", 0},
		"marked, cut": {long + "\n[1000 characters truncated]\n" + "tail", 60, 1000,
			strings.Repeat("é", 27) + "\n[1073 characters truncated]\ntail", 73},
		"marker gone": {strings.Repeat("a", 60), 40, 7, strings.Repeat("a", 7) + "\n[47 characters truncated]\n" + strings.Repeat("a", 6), 47},
	} {
		t.Run(name, func(t *testing.T) {
			got, dropped := Cut(test.text, test.limit, test.earlier)
			expect(t, got == test.want && dropped == test.dropped, "got %q, %d\nwant %q, %d", got, dropped, test.want, test.dropped)
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("abc", 2, int64(0))
	f.Add("a\n[7 characters truncated]\nb😀é", 5, int64(7))
	f.Fuzz(func(t *testing.T, text string, limit int, earlier int64) {
		if !utf8.ValidString(text) || limit < 0 || limit > 1000 || earlier < 0 {
			t.Skip()
		}
		got, dropped := Cut(text, limit, earlier)
		expect(t, utf8.ValidString(got), "cut inside a character: %q", got)
		n := utf8.RuneCountInString(got)
		expect(t, n <= max(limit, 80), "%d characters of at most %d", n, limit)
		expect(t, (dropped == 0) == (got == text), "dropped %d of %q, got %q", dropped, text, got)
	})
}

func TestShare(t *testing.T) {
	for name, test := range map[string]struct {
		total int
		needs []int
		want  []int
	}{
		"all fit":         {100, []int{10, 20}, []int{10, 20}},
		"small one whole": {100, []int{1000, 10}, []int{90, 10}},
		"equal":           {90, []int{50, 60, 70}, []int{30, 30, 30}},
		"nothing":         {0, []int{5, 5}, []int{0, 0}},
		"below nothing":   {-50, []int{5, 5}, []int{0, 0}},
		"nobody":          {10, nil, []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, test.want, share(test.total, test.needs...))
		})
	}
}
