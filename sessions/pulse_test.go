package sessions

import (
	"strings"
	"testing"
)

// A killed server leaves what its runs had printed: all of it, or the last whole lines.
func TestOutputSoFar(t *testing.T) {
	line := func(c string) string { return strings.Repeat(c, 9) + "\n" }
	for _, test := range []struct {
		what       string
		keep, room int
		want       string
	}{
		{"all", 1000, 100, line("a") + line("b") + line("c") + line("d")},
		{"the last lines", 1000, 25, Marker(20) + line("c") + line("d")},
		{"a line more than fits", 1000, 29, Marker(20) + line("c") + line("d")},
		{"the middle is gone", 10, 100, Marker(30) + line("d")},
	} {
		o := Options{OutputLimit: 2 * test.keep, Recorder: &diary{}}
		transcript := newTranscript(t.TempDir(), &o)
		for i, c := range []string{"a", "b", "c", "d"} {
			transcript.append(Stream(i%2), []byte(line(c)))
			transcript.take() // what an answer has is not gone
		}
		if got := transcript.soFar(test.room); got != test.want {
			t.Errorf("%s: %q, not %q", test.what, got, test.want)
		}
	}
}
