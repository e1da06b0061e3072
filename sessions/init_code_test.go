package sessions

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestInitCodeThatFailsIsTold by the first result of each worker that it failed in, and
// by the list for as long as its state lives, also in copies and branches.
func TestInitCodeThatFailsIsTold(t *testing.T) {
	starter := tries()
	run := starter.start
	starter.start = func(spec Spec) (*fakeWorker, error) {
		w, err := run(spec)
		w.initError = "Traceback (most recent call last):\n  File \"<init>\", line 1, in <module>\nNameError: np\n"
		return w, err
	}
	m := newTestManager(t, starter, func(o *Options) { o.History = 1 })
	defer m.Close(t.Context())
	told := func(r RunRequest) bool {
		return slices.ContainsFunc(mustRun(t, m, r).Notes, func(note string) bool { return strings.HasSuffix(note, "is missing: NameError: np") })
	}
	for _, step := range []struct {
		code  string
		reset bool
		want  bool
	}{
		{"x", false, true},
		{"x", false, false},
		{"crash", false, false}, // the copy that steps in began with it
		{"x", false, false},
		{"x", true, true},
	} {
		if got := told(RunRequest{Code: step.code, Reset: step.reset}); got != step.want {
			t.Errorf("%+v: told: %v", step, got)
		}
	}
	if _, err := m.Branch(t.Context(), me, ""); err != nil {
		t.Fatal(err)
	}
	for _, l := range list(t, m) {
		if !strings.Contains(l.InitError, "NameError") {
			t.Errorf("%s: %q", l.ID, l.InitError)
		}
	}
}

// TestInitCodeThatNeverEnds: calls and the list say the same.
func TestInitCodeThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		starter := echoes()
		run := starter.start
		starter.start = func(spec Spec) (*fakeWorker, error) { <-end; return run(spec) }
		m := newTestManager(t, starter, nil)
		defer m.Close(t.Context())
		defer close(end)
		_, err := m.Run(t.Context(), me, RunRequest{Code: "x", Wait: time.Second})
		wantCode(t, err, CodeBusy, "still starting", "in a few seconds")
		if l := list(t, m)[0]; l.Status != "starting" || l.Idle != startPatience.Seconds() {
			t.Errorf("%+v", l)
		}
		time.Sleep(time.Minute)
		_, err = m.Run(t.Context(), me, RunRequest{Code: "x", Wait: time.Second})
		wantCode(t, err, CodeBusy, "still starting, for 1 minute", "--init-code")
	})
}

func TestExceptionIn(t *testing.T) {
	for traceback, want := range map[string]string{
		"Traceback (most recent call last):\n  File \"a\", line 1\n    1/0\nZeroDivisionError: by zero\n": "ZeroDivisionError: by zero",
		"  File \"<init>\", line 1\n    (\n    ^\nSyntaxError: '(' was never closed":                      "SyntaxError: '(' was never closed",
		"Traceback (most recent call last):\n  File \"a\", line 1\nValueError: one\ntwo":                  "ValueError: one two",
		"KeyError": "KeyError",
		"":         "",
	} {
		if got := exceptionIn(traceback); got != want {
			t.Errorf("%q: %q", traceback, got)
		}
	}
}
