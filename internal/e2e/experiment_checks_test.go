package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"understudy/sessions"
)

// isFollowed: who watches sees the experiment while its server is there.
func (l *laboratory) isFollowed(t *testing.T, a *scientist) {
	t.Helper()
	seen := l.run(t, "watch", "--once", "--no-color")
	best := a.best()
	for _, want := range []string{fmt.Sprintf("%d of %d", experimentSteps, experimentSteps), strconv.FormatFloat(*best.metric, 'f', 3, 64), "best", "bug"} {
		expect(t, strings.Contains(seen, want), "watch shows no %q:\n%s", want, seen)
	}
	expect(t, !strings.ContainsRune(seen, '\x1b'), "watch writes escape sequences to a pipe: %q", seen)
}

// check looks at all that the server has left behind.
func (l *laboratory) check(t *testing.T, a *scientist) {
	t.Run("export", func(t *testing.T) { l.isExported(t, a) })
	t.Run("watch", func(t *testing.T) {
		seen := l.run(t, "watch", "--once")
		expect(t, strings.Contains(strings.SplitN(seen, "\n", 2)[0], "ended"), "watch does not say that the server has ended:\n%s", seen)
	})
	dirs, err := filepath.Glob(filepath.Join(l.experiments, "*"))
	insist(t, err == nil && len(dirs) == 1, "%d directories of experiments: %v", len(dirs), err)
	dir := dirs[0]
	t.Run("journal.json", func(t *testing.T) { a.isIn(t, filepath.Join(dir, "journal.json")) })
	t.Run("config.yaml", func(t *testing.T) { holds(t, filepath.Join(dir, "config.yaml"), "trials: true", "steps: 20") })
	t.Run("tree_plot.html", func(t *testing.T) { a.isDrawn(t, filepath.Join(dir, "tree_plot.html")) })
	t.Run("best_solution.py", func(t *testing.T) { a.scoresAgain(t, filepath.Join(dir, "best_solution.py")) })
	t.Run("report.md", func(t *testing.T) { a.isReported(t, dir) })
	t.Run("report", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "report")
		l.run(t, "report", "--out", out)
		a.isReported(t, out)
	})
}

// holds checks that a file has all these texts.
func holds(t *testing.T, path string, wants ...string) {
	t.Helper()
	text := readFile(t, path)
	for _, want := range wants {
		expect(t, strings.Contains(text, want), "%s has no %q:\n%s", filepath.Base(path), want, text)
	}
}

// isIn: journal.json has each trial as the agent remembers it.
func (a *scientist) isIn(t *testing.T, path string) {
	var saved struct {
		Nodes []struct {
			ID            string
			Step          int
			Code, Plan    string
			Stage         string
			Parent        *string
			InterpreterID string `json:"interpreter_id"`
			Execution     int
			IsBuggy       bool `json:"is_buggy"`
			Metric        *struct {
				Name     string
				Value    *float64
				Maximize bool
			}
			TermOut []string `json:"term_out"`
			Figures []string
		}
		Best *string
	}
	must(t, json.Unmarshal([]byte(readFile(t, path)), &saved))
	insist(t, len(saved.Nodes) == len(a.tried), "%d nodes of %d trials", len(saved.Nodes), len(a.tried))
	ids := make([]string, len(saved.Nodes)+1)
	for i, node := range saved.Nodes {
		ids[i+1] = node.ID
	}
	for i, node := range saved.Nodes {
		known := a.tried[i]
		parent := ""
		if known.parent != nil {
			parent = ids[known.parent.number]
		}
		switch {
		case node.Step != known.number || node.Code != known.code || node.Plan != known.plan || node.Stage != known.stage():
			t.Errorf("trial %d is node %+v", known.number, node)
		case node.IsBuggy != (known.buggy != "") || (node.Parent == nil) != (parent == "") || node.Parent != nil && *node.Parent != parent:
			t.Errorf("trial %d: buggy %t, parent %v", known.number, node.IsBuggy, node.Parent)
		case sessions.NameOf(node.InterpreterID) != known.interpreter || node.Execution != known.execution:
			t.Errorf("trial %d: execution %d in %s", known.number, node.Execution, node.InterpreterID)
		case node.Metric == nil || node.Metric.Name != "score" || !node.Metric.Maximize || !same(node.Metric.Value, known.metric):
			t.Errorf("trial %d: metric %+v", known.number, node.Metric)
		case known.metric != nil && !strings.Contains(strings.Join(node.TermOut, ""), strconv.FormatFloat(*known.metric, 'g', -1, 64)):
			t.Errorf("trial %d: output %q", known.number, node.TermOut)
		}
		for _, figure := range node.Figures {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), figure))
			expect(t, err == nil, "%v", err)
		}
		draws := strings.Contains(known.code, "plt.")
		expect(t, draws == (len(node.Figures) > 0), "trial %d has figures %v", known.number, node.Figures)
	}
	best := ids[a.best().number]
	expect(t, saved.Best != nil && *saved.Best == best, "the best node is %v, not %s", saved.Best, best)
}

func same(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// isDrawn: the page shows all trials, and a click on one its plan, code and output.
// Nothing that stands in them runs.
func (a *scientist) isDrawn(t *testing.T, path string) {
	n := strings.Count(strings.ToLower(readFile(t, path)), "</script")
	expect(t, n <= 2, "%d ends of scripts in the page", n)
	page := openPage(t, path)
	for _, known := range []*trial{a.tried[0], a.crash(t), a.best()} {
		page.click(fmt.Sprintf("#node-%d", known.number))
		panel := fmt.Sprint(page.value(`document.querySelector("#panel").textContent`))
		wants := []string{known.plan, known.code, known.stage()}
		if strings.Contains(known.code, "ctypes") {
			wants = append(wants, "reading", "SIGSEGV") // what it printed before it crashed
		}
		if known.metric != nil {
			wants = append(wants, strconv.FormatFloat(*known.metric, 'g', -1, 64))
		}
		for _, want := range wants {
			expect(t, strings.Contains(flat(panel), flat(want)), "a click on trial %d shows no %q:\n%s", known.number, want, panel)
		}
	}
	page.click("#node-1")
	page.value(`void document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "b", bubbles: true}))`)
	if panel := fmt.Sprint(page.value(`document.querySelector("#panel").textContent`)); !strings.Contains(flat(panel), flat(a.best().plan)) {
		t.Errorf("b does not go to the best trial:\n%s", panel)
	}
	page.click("#node-1")
	title := page.value("document.title")
	expect(t, title != "owned", "a plan's script, or code's, has run")
	if n := page.value(`document.querySelectorAll("#panel script, #panel img:not([src^='data:'])").length`); n != 0.0 {
		t.Errorf("%v elements of a plan or code are in the page", n)
	}
	if n := page.value(`document.querySelectorAll("#tree [id^=node-]").length`); n != float64(len(a.tried)) {
		t.Errorf("%v nodes are drawn", n)
	}
}

// crash is the trial that lost its process.
func (a *scientist) crash(t *testing.T) *trial {
	t.Helper()
	for _, each := range a.tried {
		if strings.Contains(each.code, "ctypes") {
			return each
		}
	}
	t.Fatal("no trial crashed")
	return nil
}

// flat is a text without its white space, which a page may lay out as it likes.
func flat(text string) string { return strings.Join(strings.Fields(text), "") }

// scoresAgain: the best solution runs alone, and comes to the same metric.
func (a *scientist) scoresAgain(t *testing.T, path string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(), path)
	cmd.Dir, cmd.Env = workspaceCopy(t), append(os.Environ(), "MPLBACKEND=agg")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	insist(t, err == nil, "%v\n%s\n%s", err, stdout, stderr.String())
	words := strings.Fields(string(stdout))
	insist(t, len(words) != 0, "it prints nothing")
	if score, err := strconv.ParseFloat(words[len(words)-1], 64); err != nil || math.Abs(score-*a.best().metric) > 1e-12 {
		t.Errorf("it comes to %q, not %v", words[len(words)-1], *a.best().metric)
	}
}

// workspaceCopy makes a directory with the data that the agent had.
func workspaceCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "input"), 0o755))
	writeFile(t, filepath.Join(dir, "input", "customers.csv"), readFile(t, customers))
	return dir
}

// isReported: the report has its five sections, each trial and the best one.
func (a *scientist) isReported(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "report.md")
	holds(t, path, "Introduction", "Preprocessing", "Modelling Methods", "Results Discussion", "Future Work",
		strconv.FormatFloat(*a.best().metric, 'f', 3, 64), "read_csv", a.best().plan, "NameError", "tree_plot.html")
	text := readFile(t, path)
	expect(t, !strings.Contains(text, "<script>") && !strings.Contains(text, "\n<img"), "a plan's HTML is in the report as it is")
}

// isExported: the way to the best trial as a notebook has the code that led there,
// and gives the same when Jupyter runs it, where that is there; and as a script it comes
// to the same metric.
func (l *laboratory) isExported(t *testing.T, a *scientist) {
	dir := t.TempDir()
	notebook, script := filepath.Join(dir, "best.ipynb"), filepath.Join(dir, "best.py")
	l.run(t, "export", "best", "--format", "ipynb", "--out", notebook)
	saved := readNotebook(t, []byte(readFile(t, notebook)))
	var code strings.Builder
	for _, cell := range saved {
		fmt.Fprintln(&code, cell.Source)
	}
	for _, want := range append(a.wayTo(a.best()), "read_csv") {
		expect(t, strings.Contains(code.String(), want), "the notebook has no %q:\n%s", want, code.String())
	}
	if python := notebookPython(t); python != "" {
		if n, want := runsAgain(t, python, workspaceCopy(t), []byte(readFile(t, notebook))), a.best().generation(); n <= want {
			t.Errorf("%d cells of %d trials and what was before them", n, want)
		}
	}
	l.run(t, "export", "best", "--format", "py", "--out", script)
	holds(t, script, append(a.wayTo(a.best()), "read_csv")...)
	writeFile(t, script, readFile(t, script)+"\nprint(score)\n") // as a script it shows no values
	a.scoresAgain(t, script)
}

// wayTo is the code of the trials by which one came to be.
func (a *scientist) wayTo(last *trial) (codes []string) {
	for ; last != nil; last = last.parent {
		for line := range strings.Lines(last.code) {
			codes = append(codes, strings.TrimSpace(line))
		}
	}
	return codes
}

// generation is how many trials led to one, itself included.
func (w *trial) generation() (n int) {
	for ; w != nil; w = w.parent {
		n++
	}
	return n
}
