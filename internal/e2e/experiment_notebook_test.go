package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/journal"
	reports "understudy/internal/report"
	"understudy/internal/worker"
	"understudy/sessions"
)

// notebookCells are what agents write: each has the same outputs every time it runs.
var notebookCells = []string{
	"1 + 1\n'text'\n2;\n3 ;  # silenced\nNone\n[1.5, 'a', None]",
	"import numpy as np\nimport pandas as pd\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt",
	"df = pd.DataFrame({'number': range(5), 'name': list('abcde')})\ndf\nprint(df.describe())\ndf.name",
	"pd.DataFrame(np.arange(90).reshape(3, 30), columns=[f'column {i}' for i in range(30)])",
	"np.arange(200.0).reshape(20, 10)\n{'key': {'inner': (1, 2)}, 'set': {3}}",
	"class Point:\n    def __init__(self, x):\n        self.x = x\n\n    def __str__(self):\n        return f'at {self.x}'\n\n    def __repr__(self):\n        return 'Point'\n\n\nPoint(3)\n[Point(4)]",
	"for i in range(3):\n    i\n    print(i, end=' ')\nprint()",
	"plt.plot([1, 2, 3])\nplt.title('Ünïcode')\nplt.hist([1, 2, 2])",
	"fig, axes = plt.subplots(1, 2, figsize=(4, 2))\naxes\nplt.show()\nprint('after')\nplt.bar([1], [2])",
	"import warnings\nwarnings.warn('careful')\nimport sys\nprint('to stderr', file=sys.stderr)",
	"print('before')\n{}['missing']\nprint('never')",
	"def broken(:\n    pass",
	"print('not printed')\nreturn 3",
	"  indented = 1",
	"raise SystemExit(3)",
	"%pip --version",
	"!echo out; echo err >&2; echo {braces} $((1 + 2))\nlisting = !printf 'a\\nb\\n'\nlisting",
	"!exit 3\n_exit_code",
	"n = 3\n!echo $n {n + 1}\nout = !echo $n\nout\nout.n",
	"%%capture kept\nprint('inside')",
	"kept.stdout\n%precision 3\n0.123456",
	"%%bash\necho in bash; echo $HOME | wc -l",
	">>> p = 1\n>>> p\n",
	"%%capture timed\n%time n + 1",
	"timed.stdout.count('Wall')",
	"import asyncio\nawait asyncio.sleep(0, 'awaited')\nasync def later():\n    return 5\nawait later()",
	"print('ünï ✓ 漢字 😀')\nfor i in range(3):\n    print(f'\\r{i} of 3', end='')\nprint()",
	"\"\"\"It's a \"string\" with\n\nblank lines, </script> and \\n\"\"\"\nx = 3; x; x + 1\nif x:\n    !echo nested",
	"who\n",
	"exit(2)",
	"import subprocess\nsubprocess.run(['echo', 'captured'], capture_output=True, text=True).stdout",
	"from __future__ import annotations\ndef typed(x: undefined_name): return typed.__annotations__\ntyped(1)",
	"f'{x!r:>5}'; 7 % 3\nlist(map(str, range(3)))\nlambda_result = (lambda v: v * 2)(21)\nlambda_result",
	"try:\n    1 / 0\nexcept ZeroDivisionError:\n    import traceback\n    print(traceback.format_exc().splitlines()[-1])",
	"for i in range(3000):\n    print(i, 'of a long output')",
	"artifact(pd.DataFrame({'a': [1]}), name='table')\nartifact('<script>1</script>', kind='html')\nprint('kept')",
	"import seaborn as sns\nsns.lineplot(x=[1, 2], y=[3, 4])",
	"from sklearn.linear_model import LinearRegression\nmodel = LinearRegression().fit([[0], [1]], [1, 3])\nmodel\nfloat(model.coef_[0].round(6))",
}

// TestNotebookRuns exports what a session ran as a notebook, and runs that from top to
// bottom: the outputs are the same.
func TestNotebookRuns(t *testing.T) {
	python := notebookPython(t)
	if python == "" {
		t.Skip(`needs programs of PyPI; run "make notebooks"`)
	}
	reader, manager := newRecordedManager(t, python)
	run := func(r sessions.RunRequest) *sessions.Result {
		t.Helper()
		result, err := manager.Run(t.Context(), "agent", r)
		must(t, err)
		return result
	}
	for _, code := range notebookCells {
		run(sessions.RunRequest{Code: code})
	}
	first := run(sessions.RunRequest{Kind: sessions.RunsCommand, Code: "echo one\necho two >&2\nexit 4"})
	run(sessions.RunRequest{Kind: sessions.RunsCommand, Code: "echo '{x}' $((2 * 3))"})
	last := first.InterpreterID
	if runtime.GOOS == "linux" { // crashes and branches
		run(sessions.RunRequest{Code: "x = 'lost'\nprint('last words', flush=True)\nimport os; os.abort()"})
		run(sessions.RunRequest{Code: "x\nimport warnings; warnings.warn('numbered')"})
		branch, err := manager.Branch(t.Context(), "agent", last)
		must(t, err)
		last = branch.ID
		run(sessions.RunRequest{InterpreterID: last, Code: "x + 1, df.shape\nplt.plot([1]);"})
		run(sessions.RunRequest{InterpreterID: last, Code: "x = 99"})
		if _, err := manager.Undo(t.Context(), "agent", last); err != nil {
			t.Fatal(err)
		}
		run(sessions.RunRequest{InterpreterID: last, Code: "x", Trial: &sessions.Trial{Plan: "# Hostile <script>alert(1)</script>\n* [a](javascript:x) `b` $c$"}})
	}

	// An interpreter that has ended keeps its place in the journal.
	manager.Close(t.Context())
	document, err := reports.Find(t.Context(), reader, last)
	must(t, err)
	text, err := document.Notebook()
	must(t, err)
	n, want := runsAgain(t, python, t.TempDir(), text), len(notebookCells)+2
	insist(t, n >= want, "%d cells of %d", n, want)
}

// notebookPython is a Python that has Jupyter, "" without one.
func notebookPython(t *testing.T) string {
	t.Helper()
	place := os.Getenv("UNDERSTUDY_NOTEBOOKS")
	if place == "" {
		return ""
	}
	place, err := filepath.Abs(place)
	must(t, err)
	return filepath.Join(place, "bin", "python")
}

// runsAgain runs a notebook in a directory: its cells give what they have recorded. It
// returns how many there are.
func runsAgain(t *testing.T, python, workdir string, text []byte) int {
	t.Helper()
	recorded, again := readNotebook(t, text), runNotebook(t, python, workdir, text)
	for i, cell := range recorded {
		diff := cmp.Diff(cell.told(), again[i].told())
		expect(t, diff == "", "the cell %q gives something else (- recorded, + run again):\n%s", cell.Source, diff)
	}
	return len(recorded)
}

// runNotebook runs a notebook in a directory and returns its code cells.
func runNotebook(t *testing.T, python, workdir string, text []byte) []notebookCell {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "exported.ipynb")
	writeFile(t, file, string(text))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	execute := func(args ...string) []byte {
		cmd := exec.CommandContext(ctx, python, args...)
		// Jupyter keeps files in the home directory.
		cmd.Env = append(os.Environ(), "HOME="+dir, "IPYTHONDIR="+filepath.Join(dir, "ipython"),
			"PATH="+filepath.Dir(python)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		cmd.Stderr = os.Stderr
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.Output()
		must(t, err)
		return out
	}
	// matplotlib keeps its list of fonts there too. It says so on stderr when making that
	// takes five seconds, which no cell is to be the first to do.
	execute("-c", "import matplotlib.font_manager")
	return readNotebook(t, execute(filepath.Join(root, "testdata", "notebooks", "run.py"), file, workdir))
}

type notebookCell struct {
	Type     string `json:"cell_type"`
	ID       string
	Source   text
	Metadata struct{ Tags []string }
	Outputs  []struct {
		Type  string `json:"output_type"`
		Name  string
		Text  text
		Error string `json:"ename"`
		Data  map[string]any
	}
}

// text is a string, or several in a row.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// readNotebook returns the code cells of a notebook, but for the setup.
func readNotebook(t *testing.T, data []byte) []notebookCell {
	t.Helper()
	var n struct {
		NBFormat int
		Cells    []notebookCell
	}
	err := json.Unmarshal(data, &n)
	insist(t, err == nil && n.NBFormat == 4, "nbformat %d: %v", n.NBFormat, err)
	return slices.DeleteFunc(n.Cells, func(c notebookCell) bool {
		return c.Type != "code" || slices.Contains(c.Metadata.Tags, "understudy")
	})
}

// told is what is the same when a cell runs again.
type told struct {
	ID, Stdout, Stderr string
	Figures            int
	Errors             []string
}

func (c notebookCell) told() told {
	t := told{ID: c.ID}
	for _, o := range c.Outputs {
		switch {
		case o.Name == "stdout":
			t.Stdout += string(o.Text)
		case o.Name == "stderr":
			t.Stderr += string(o.Text)
		case o.Type == "error":
			t.Errors = append(t.Errors, o.Error)
		case o.Data["image/png"] != nil:
			t.Figures++
		}
	}
	return t
}

// newRecordedManager returns a manager of real interpreters, and the journal that it
// writes.
func newRecordedManager(t *testing.T, python string) (*journal.Reader, *sessions.Manager) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "journal.db")
	recorder, err := journal.Open(file, journal.Options{Run: journal.Run{Version: "test", Config: "echo: all\n"}})
	must(t, err)
	t.Cleanup(func() { must(t, recorder.Close(context.Background())) })
	o := sessions.Options{
		Recorder: recorder, Dir: filepath.Join(dir, "sessions"), WorkdirRoot: filepath.Join(dir, "work"),
		Timeout: 10 * time.Minute, MaxTimeout: 10 * time.Minute, Wait: 10 * time.Minute, Grace: 5 * time.Second,
		MaxSessions: 4, OutputLimit: 100_000, SpoolAfter: 1000, SpoolLimit: 1 << 20, History: 3, Queue: 4,
	}
	options := worker.Options{Python: python, LibraryDir: filepath.Join(dir, "lib"), CheckpointShare: 0.5}
	if runtime.GOOS == "linux" {
		z := worker.NewZygote(options)
		t.Cleanup(func() { must(t, z.Close(context.Background())) })
		o.Starter = z
	} else {
		o.Starter = worker.NewSpawner(options)
	}
	m := sessions.NewManager(o)
	t.Cleanup(func() { m.Close(context.Background()) })
	reader, err := journal.OpenReader(file)
	must(t, err)
	t.Cleanup(func() { _ = reader.Close() })
	return reader, m
}
