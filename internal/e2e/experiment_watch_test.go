package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/journal"
	"understudy/sessions"
)

// tried is an agent's experiment as its server tells it to a journal.
type tried struct {
	t       *testing.T
	journal *journal.Journal
	number  int
	present sessions.StateRef
}

const triedIn = "3fa9c1d0e0f0a0b0c0d0e0f0a0b0c0d0"

func newTried(t *testing.T, path string) *tried {
	t.Helper()
	j, err := journal.Open(path, journal.Options{Run: journal.Run{PID: os.Getpid(), Version: "9.9", Steps: 20, RunDir: "/home/ada/experiments"}})
	must(t, err)
	a := &tried{t: t, journal: j}
	must(a.t, j.SaveSession(t.Context(), sessions.SessionState{InterpreterID: triedIn, Client: "claude-code", Created: time.Now()}))
	return a
}

// begin begins a trial, or an execution without a plan.
func (a *tried) begin(plan, code string) sessions.Entry {
	a.t.Helper()
	a.number++
	e := sessions.Entry{
		InterpreterID: triedIn, Execution: a.number, Client: "claude-code", Kind: sessions.RunsCode, Code: code,
		Started: time.Now(), Limit: time.Hour, Parent: a.present, Follows: a.present,
	}
	if plan != "" {
		e.Trial = &sessions.Trial{Plan: plan, MetricVarName: "accuracy", Maximize: true}
	}
	must(a.t, a.journal.Begin(a.t.Context(), e))
	return e
}

// try is a whole trial: with an accuracy, or with an error where that is 0.
func (a *tried) try(plan, code string, accuracy float64) {
	a.t.Helper()
	e := a.begin(plan, code)
	a.present = sessions.StateRef{InterpreterID: triedIn, Execution: a.number}
	r := sessions.Result{InterpreterID: triedIn, Execution: a.number, Status: sessions.StatusOK, Success: true, ExecTime: 1.5,
		Stdout: "fold 1 done\n", TermOut: []string{"fold 1 done\n"}}
	e.Metric = &sessions.Metric{Value: &accuracy}
	if accuracy == 0 {
		r.Status, r.Success, r.ExcType = sessions.StatusError, false, "NameError"
		r.Traceback = "Traceback (most recent call last):\nNameError: name 'Forest' is not defined"
		e.Metric = &sessions.Metric{Problem: "the run failed"}
	}
	e.Result, e.Present = &r, a.present
	e.Printed[0] = sessions.Printed{Text: []byte(r.Stdout), Size: int64(len(r.Stdout))}
	_, err := a.journal.Record(a.t.Context(), e)
	must(a.t, err)
}

// terminal is one in tmux, in which a program runs. Its exit status is shown by the shell
// that began it: tmux itself may miss that a program has ended, and leaves it a zombie.
type terminal struct {
	t      *testing.T
	socket string
}

func newTerminal(t *testing.T, columns, lines int, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux here")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &terminal{t: t, socket: filepath.Join(dir, "s")}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", w.socket, "kill-server").Run() })
	w.tmux(append([]string{"-u", "-f", os.DevNull, "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines),
		"-e", "NO_COLOR=", "-e", "TZ=UTC", "sh", "-c", `trap : INT; "$0" "$@"; echo "exit status $?"; exec cat`, binary}, args...)...)
	return w
}

func (w *terminal) tmux(args ...string) string {
	w.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", w.socket}, args...)...).CombinedOutput()
	insist(w.t, err == nil, "tmux %v: %v: %s", args, err, out)
	return strings.TrimRight(string(out), "\n")
}

func (w *terminal) press(keys ...string) { w.tmux(append([]string{"send-keys"}, keys...)...) }

// until waits until the screen has all texts, and returns it.
func (w *terminal) until(texts ...string) string {
	w.t.Helper()
	var said string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		said = w.tmux("capture-pane", "-p")
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(said, text)
		}
		if !missing {
			return said
		}
	}
	w.t.Fatalf("the screen never has all of %q:\n%s", texts, said)
	return ""
}

// part returns the lines of a screen from one that begins with a text to the next
// empty one, without spaces at their ends.
func part(screen, from string) string {
	var kept []string
	for line := range strings.Lines(screen) {
		line = strings.TrimRight(line, " \n")
		switch {
		case len(kept) == 0 && !strings.HasPrefix(line, from):
		case line == "":
			if len(kept) > 0 {
				return strings.Join(kept, "\n")
			}
		default:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// TestWatchInATerminal watches an experiment from before its server has begun until
// it has ended.
func TestWatchInATerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	w := newTerminal(t, 80, 30, "watch", "--journal", path)
	w.until("No server has written to the journal yet")

	a := newTried(t, path)
	w.until("run "+a.journal.RunID(), "alive", "nothing has run yet")
	a.try("Logistic regression", "model = LogisticRegression()", 0.873)
	a.try("Random forest\x1b]0;owned\x07", "rf = Forest()", 0)
	a.try("Import what was missing", "rf = RandomForestClassifier()", 0.9021)
	running := a.begin("More trees", "rf = RandomForestClassifier(800)")
	must(a.t, a.journal.SaveHeartbeats(t.Context(), []sessions.Heartbeat{{InterpreterID: triedIn, Memory: 212e6, Execution: running.Execution,
		Code: running.Code, Started: running.Started, Limit: running.Limit, Tail: "tree 1\rtree 2\n\x1b[2Jtree 3\n"}}))

	// With the end of its last line: a screen may be looked at while it is drawn.
	screen := w.until("3 of 20 trials", "best 0.9021 by #3", "◌ running", "› tree 3", "3fa9c1@4", "212 MB", "s  #4 I  More trees")
	got := strings.Split(part(screen, "Trials"), "\n")
	want := []string{
		"Trials  4 trials",
		"  ● 0.873  #1 D  Logistic regression",
		"  └─◍ bug  #2 I  Random forest",
		"    └─● 0.9021 (best)  #3 B  Import what was missing",
	}
	if len(got) != 5 || !strings.HasPrefix(got[4], "›     └─◌ running ") || !strings.HasSuffix(got[4], "s  #4 I  More trees") {
		t.Errorf("the trial that runs:\n%s", screen)
	} else if diff := cmp.Diff(want, got[:4]); diff != "" {
		t.Errorf("the tree (-want +got):\n%s", diff)
	}
	title := w.tmux("display-message", "-p", "#{pane_title}")
	expect(t, title != "owned", "a plan has changed the terminal's title")

	w.press("b", "Enter")
	w.until("Trial #3 (debug)", "● 0.9021  accuracy, higher is better", "rf = RandomForestClassifier()", "fold 1 done")
	w.press("Escape")
	w.until("Trials  4 trials")
	w.press("Up", "Enter")
	w.until("Trial #2 (improve)", "NameError: name 'Forest' is not defined")
	w.press("Enter")
	w.press("/")
	w.press("-l", "missing")
	w.until("1 of 4 trials with “missing”", "/missing")
	w.press("Escape")
	w.until("Trials  4 trials")
	w.tmux("resize-window", "-x", "40", "-y", "16")
	w.until("› ", "● 0.9021 (best)", "3 of 20 trials")
	w.tmux("resize-window", "-x", "160", "-y", "30")
	w.until("│ Running now", "│ Files", "/home/ada/experiments")

	must(a.t, a.journal.Close(t.Context()))
	w.until("ended ", ", after ")
	w.press("q")
	w.until("exit status 0")
}

// TestWatchInLines watches without a terminal.
func TestWatchInLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	watch := func(args ...string) (string, error) {
		return finish(command(t, append([]string{"watch", "--journal", path}, args...)...))
	}
	var failed *exec.ExitError
	if said, err := watch("--once"); !errors.As(err, &failed) || failed.ExitCode() != 1 || !strings.Contains(said, path) || !strings.Contains(said, "--journal") {
		t.Errorf("without a journal: %v, %s", err, said)
	}
	a := newTried(t, path)
	a.try("Logistic regression", "model = LogisticRegression()", 0.873)
	a.try("Random forest\x1b[2J", "rf = Forest()", 0)
	said, err := watch("--once")
	for _, want := range []string{"alive for ", "2 of 20 trials", "  ● 0.873 (best)  #1 D  Logistic regression\n  └─◍ bug  #2 I  Random forest\n", path} {
		expect(t, err == nil && strings.Contains(said, want), "--once does not say %q: %v\n%s", want, err, said)
	}
	must(a.t, a.journal.Close(t.Context()))
	said, err = watch(strings.ToLower(a.journal.RunID()[:9]))
	for _, want := range []string{" trial #1 (draft) ok in 1.5 s, accuracy 0.873, the best so far: Logistic regression\n", ", bug (", " has ended\n"} {
		expect(t, err == nil && strings.Contains(said, want), "the lines don't say %q: %v\n%s", want, err, said)
	}
	expect(t, !strings.ContainsAny(said, "\x1b"), "an escape sequence is in the lines: %q", said)
}
