package attach

import (
	"io"
	"strings"
	"testing"

	"understudy/sessions"
)

// TestPrinted: what showEnd prints is not printed with the output too.
func TestPrinted(t *testing.T) {
	for name, test := range map[string]struct {
		result sessions.Result
		want   string
	}{
		"without term_out": {sessions.Result{Stdout: "a\n", Stderr: "b\n"}, "a\nb\n"},
		"ok":               {sessions.Result{Status: sessions.StatusOK, TermOut: []string{"a\n", "b\n", "Execution time: 1 second."}}, "a\nb\n"},
		"running":          {sessions.Result{Status: sessions.StatusRunning, TermOut: []string{"a\n"}}, "a\n"},
		"error":            {sessions.Result{Status: sessions.StatusError, Traceback: "KeyError\n", TermOut: []string{"a\n", "KeyError\n", "Execution time: 1 second."}}, "a\n"},
		"error, shortened": {sessions.Result{Status: sessions.StatusError, Traceback: "KeyError\n", TermOut: []string{"Execution time: 1 second."}}, ""},
		"time limit":       {sessions.Result{Status: sessions.StatusTimeout, ExcType: "TimeoutError", TermOut: []string{"a\n", "TimeoutError: …"}}, "a\n"},
	} {
		if got := printed(&test.result); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestWithoutAPython: a line is whole by itself, a block with an empty line.
func TestWithoutAPython(t *testing.T) {
	for code, want := range map[string]bool{
		"x = 1": true, "for i in x:": false, "for i in x: ": false, "for i in x:\n    f(i)": false,
		"for i in x:\n    f(i)\n": true, "%%bash": false, "%%bash\nls\n": true,
	} {
		if got := newParser("").isWhole(code); got != want {
			t.Errorf("%q: %t", code, got)
		}
	}
}

// TestEnterIsPressedTwice: once while the terminal is raw, and once when it no longer is.
func TestEnterIsPressedTwice(t *testing.T) {
	typed, err := io.ReadAll(&keys{in: strings.NewReader("while x: y\r\nz\n")})
	if err != nil || string(typed) != "while x: y\r\rz\r" {
		t.Errorf("%q, %v", typed, err)
	}
}
