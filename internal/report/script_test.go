package report

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

func TestCodeThatIsRunFromAText(t *testing.T) {
	for code, want := range map[string]bool{
		"async def f():\n    pass":           false,
		"awaited = x.awaits":                 false,
		"x = await f()":                      true,
		"async for x in y:\n    x":           true,
		"[y async for y in z]":               true,
		"from __future__ import annotations": true,
	} {
		got := asText.MatchString(code)
		expect(t, got == want, "%q: %v", code, got)
	}
}

// FuzzScript looks that no code ends its own comment.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{"", "!", "x = !ls\\", "'''", "from __future__ import (", "\\", "f'{", "%%a\r\n\x00", "=%", "(\n!"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		e := journal.Execution{Kind: sessions.RunsCode, Code: code, Status: sessions.StatusOK, Detail: &journal.Detail{Python: new(string)}}
		script(nil, newCells([]journal.Execution{e}))
		e.Status = sessions.StatusError
		script(nil, newCells([]journal.Execution{e}))
		e.Status = sessions.StatusCrashed
		_, text, _ := strings.Cut(script(nil, newCells([]journal.Execution{e})), "\n# %%")
		for line := range strings.Lines(text) {
			expect(t, line == "\n" || strings.HasPrefix(line, "#") || line == " [1] @0\n", "%q is left of %q", line, code)
		}
	})
}

// python returns a Python to run scripts with.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("UNDERSTUDY_TEST_PYTHON"), "python3", "python"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("needs Python on PATH or in UNDERSTUDY_TEST_PYTHON")
	return ""
}

// newSolution is an experiment whose best trial comes behind all that a session may run.
func newSolution() *sample {
	metric := 7.0
	s := &sample{Run: journal.Run{ID: "ABCDEFGH12"}}
	const limit = 2 * time.Second // what comes before the endless must be done by then
	s.add(journal.Execution{Code: "'''of\n# %% [1]\n!not a command'''\nimport asyncio\nasync def two():\n    await asyncio.sleep(0)\n    return 2", Changed: true})
	follow := func(e journal.Execution) *journal.Execution {
		e.Parent = int64(len(s.executions))
		if e.Detail == nil {
			e.Detail = &journal.Detail{Python: new(string)}
		}
		e.Changed = e.Changed || e.Status == ""
		return s.add(e)
	}
	follow(journal.Execution{Code: "x = await two()\ntext = '''a\n  b\\n'''"})
	follow(journal.Execution{Code: "from __future__ import annotations\nclass A:\n    def f(self) -> Missing:\n        return 1"})
	follow(journal.Execution{Code: "y = 1\nz = '''it's\n\"\"\"'''\n1/0\ny = 100", Status: sessions.StatusError, Changed: true, Detail: &journal.Detail{Python: new(string), Record: sessions.Result{ExcType: "ZeroDivisionError"}}})
	for _, code := range []string{"x = = 1\n'''\x00", "from __future__ import braces"} {
		follow(journal.Execution{Code: code, Status: sessions.StatusError, Detail: &journal.Detail{Refused: true, Python: new(string)}})
	}
	follow(journal.Execution{Code: "deep = {'a': {'b': []}}\nid = len = print = None\nIn, Out, exit = 1, 2, 3\ntype = 3"})
	follow(journal.Execution{Code: "deep['a']['b'].append('\x1b\u202e')\nopen('written.py', 'w').write('one = 1')\nraise OSError('deep')", Status: sessions.StatusError})
	follow(journal.Execution{Code: "import written\nassert deep['a']['b'] == ['\\x1b\\u202e'] and written.one == 1\nkept = artifact(deep, name='deep.txt')"})
	follow(journal.Execution{Code: "import time\nwritten.two = 2\ntime.sleep(600)", Status: sessions.StatusTimeout, ExecTime: limit})
	follow(journal.Execution{Code: "sleep 600", Kind: sessions.RunsCommand, Status: sessions.StatusTimeout, ExecTime: 100 * time.Millisecond})
	follow(journal.Execution{Code: "assert written.two == 2\nimport os; os.abort()", Status: sessions.StatusCrashed})
	follow(journal.Execution{Code: "y = 3\nwhile True:\n    pass", Status: sessions.StatusTimeout, Changed: true, ExecTime: limit})
	follow(journal.Execution{Code: "raise_me = 1\nraise SystemExit(3)", Status: sessions.StatusError, Changed: true})
	// Cells with magics, with what they became.
	for code, python := range map[string]string{
		"!echo shown \\\n  twice": "get_ipython().system('echo shown twice')",
		"%%bash\necho bash":       "get_ipython().run_cell_magic('bash', '', 'echo bash\\n')",
		"%matplotlib inline":      "get_ipython().run_line_magic('matplotlib', 'inline')",
		"%%javascript\nalert(1)":  "get_ipython().run_cell_magic('javascript', '', 'alert(1)\\n')",
		"%reset -f\n%pdb on":      "get_ipython().run_line_magic('reset', '-f')\nget_ipython().run_line_magic('pdb', 'on')",
	} {
		follow(journal.Execution{Code: code, Detail: &journal.Detail{Python: &python}})
	}
	for _, step := range [][2]string{
		{"lines = !echo 'a  b'; echo c", "lines = get_ipython().getoutput(\"echo 'a  b'; echo c\")\nassert lines == ['a  b', 'c'], lines"},
		{"%%time\nn = 4", "get_ipython().run_cell_magic('time', '', 'n = 4\\n')"},
		{"!echo $n", "shown = get_ipython().getoutput(\"echo $n {n + 1} '$'\")\nassert shown == ['4 5 $'], shown\ndisplay(n)"},
		{"```python\np = 1\n```", "p = 1"},
		{"%%writefile text.txt\n{n}", "get_ipython().run_cell_magic('writefile', 'text.txt', '{n}\\n')\nassert open('text.txt').read() == '{n}\\n'"},
		{"%pip --version", "get_ipython().run_line_magic('pip', '--version')\nassert _exit_code == 0"},
		{"?", "assert (In, Out, exit) == (1, 2, 3), 'IPython took the names'"},
	} {
		follow(journal.Execution{Code: step[0], Detail: &journal.Detail{Python: &step[1]}})
	}
	// Those of a journal whose worker did not tell.
	old := &journal.Detail{}
	follow(journal.Execution{Code: "told = !echo hi\nif told:\n    !echo $n", Detail: old})
	follow(journal.Execution{Code: "assert told == ['hi'], told", Detail: old})
	follow(journal.Execution{Code: "echo command > file.txt\ncat file.txt", Kind: sessions.RunsCommand})
	follow(journal.Execution{Code: "find", Arguments: []byte(`{"a": "x\ny"}`), Kind: sessions.RunsPlugin})
	follow(journal.Execution{Code: "import inspect\nassert z == 'it\\'s\\n\"\"\"' and text == 'a\\n  b\\n', (z, text)\nscore = x + y + 2 * A().f()  # last", Trial: &journal.Trial{
		Plan: "Add\n\"\"\"it\"\"\" up.", Stage: sessions.StageDraft, MetricName: "score", Maximize: true, Metric: &metric}})
	return s
}

func TestTheBestSolutionRunsAndGivesItsMetric(t *testing.T) {
	path := filepath.Join(t.TempDir(), "best_solution.py")
	script := string(solution(newSolution().load(t)))
	must(t, os.WriteFile(path, []byte(script), 0o600))
	signal.Ignore(os.Interrupt) // as a shell does for what it runs in the background
	defer signal.Reset(os.Interrupt)
	command := exec.CommandContext(t.Context(), python(t), path)
	command.Dir = t.TempDir()
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil || !strings.HasSuffix(string(output), "score = 7\n") || !strings.Contains(string(output), "shown twice\n") || !strings.Contains(string(output), "command\n") {
		t.Fatalf("%v: %s\n%s\n%s", err, output, problems.String(), script)
	}
	for _, failed := range []string{"ZeroDivisionError: division by zero", "KeyboardInterrupt", "SystemExit: 3", "OSError: deep", "the command was ended", "would keep deep.txt"} {
		expect(t, strings.Contains(problems.String(), failed), "no %s in %s", failed, problems.String())
	}
	expect(t, !strings.ContainsAny(script, "\x1b\u202e") && !strings.Contains(problems.String(), "differs"), "%s\n%s", script, problems.String())
	expect(t, strings.Contains(script, `# Left out, as plugins live in the server: find(a="x\ny")`), "the plugin's call is not named:\n%s", script)
}
