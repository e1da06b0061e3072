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
		"x = 5 % 3\ny = x != 2\nz = f'{x!r}'": false,
		"z = f'{x=!s}'":                       true,
		"x = 'abc' % 3\nf(x=1)\n# why?\n":     false,
		"print('%s' % (a, b))\nif x:\n    y":  false,
		"print('%s=%d' % (a, b))":             true,
		"import x":                            false,
		"time = 3":                            false,
		"ls.append(1)":                        false,
		"async def f():\n    pass":            false,
		"awaited = x.awaits":                  false,
		"print('a\\n')\nx = 1":                false,
		"'''doc'''\npip = 1":                  false,
		"!ls -l":                              true,
		"if x:\n    !pwd":                     true,
		"x = !ls":                             true,
		"d['a'] = !ls":                        true,
		"z =%pip list":                        true,
		"%%bash\nls":                          true,
		"x?":                                  true,
		"?y":                                  true,
		"z.a??  ":                             true,
		"x = 1\npip install x":                true,
		"python -m pip install x":             true,
		"uv pip install x":                    true,
		"cd input":                            true,
		"cd ..":                               true,
		"ls":                                  true,
		"matplotlib inline":                   true,
		"for i in y: x = !echo {i}":           true,
		"d[str(1)] = !ls":                     true,
		"print(1); x = !ls":                   true,
		"In [1]: x = 1":                       true,
		"if 1 &lt; 4:\n    x":                 true,
		"x = 1\\ny = 2":                       true,
		">>> x = 1":                           true,
		"```python\nx\n```":                   true,
		"\n    x = 1":                         true,
		"x = await f()":                       true,
		"async for x in y:\n    x":            true,
		"[y async for y in z]":                true,
		"from __future__ import annotations":  true,
		"get_ipython().system('ls')":          true,
	} {
		if got := asText.MatchString(code); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}

// FuzzScript looks that no code ends its own comment.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{"", "!", "x = !ls\\", "'''", "from __future__ import (", "\\", "f'{", "%%a\r\n\x00", "=%", "(\n!"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		e := journal.Execution{Kind: sessions.RunsCode, Code: code, Status: sessions.StatusOK}
		script(nil, newCells([]journal.Execution{e}))
		e.Status = sessions.StatusError
		script(nil, newCells([]journal.Execution{e}))
		e.Status = sessions.StatusCrashed
		_, text, _ := strings.Cut(script(nil, newCells([]journal.Execution{e})), "\n# %%")
		for line := range strings.Lines(text) {
			if line != "\n" && !strings.HasPrefix(line, "#") && line != " [1] @0\n" {
				t.Errorf("%q is left of %q", line, code)
			}
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
		e.Changed = e.Changed || e.Status == ""
		return s.add(e)
	}
	follow(journal.Execution{Code: "x = await two()\ntext = '''a\n  b\\n'''"})
	follow(journal.Execution{Code: "from __future__ import annotations\nclass A:\n    def f(self) -> Missing:\n        return 1"})
	follow(journal.Execution{Code: "y = 1\nz = '''it's\n\"\"\"'''\n1/0\ny = 100", Status: sessions.StatusError, Changed: true, Detail: &journal.Detail{Record: sessions.Result{ExcType: "ZeroDivisionError"}}})
	follow(journal.Execution{Code: "x = = 1\n'''\x00", Status: sessions.StatusError})
	follow(journal.Execution{Code: "from __future__ import braces", Status: sessions.StatusError})
	follow(journal.Execution{Code: "deep = {'a': {'b': []}}\nid = len = print = None\nIn, Out, exit = 1, 2, 3\ntype = 3"})
	follow(journal.Execution{Code: "deep['a']['b'].append('\x1b\u202e')\nopen('written.py', 'w').write('one = 1')\nraise OSError('deep')", Status: sessions.StatusError})
	follow(journal.Execution{Code: "import written\nassert deep['a']['b'] == ['\\x1b\\u202e'] and written.one == 1\nkept = artifact(deep, name='deep.txt')"})
	follow(journal.Execution{Code: "import time\nwritten.two = 2\ntime.sleep(600)", Status: sessions.StatusTimeout, ExecTime: limit})
	follow(journal.Execution{Code: "sleep 600", Kind: sessions.RunsCommand, Status: sessions.StatusTimeout, ExecTime: 100 * time.Millisecond})
	follow(journal.Execution{Code: "assert written.two == 2\nimport os; os.abort()", Status: sessions.StatusCrashed})
	follow(journal.Execution{Code: "y = 3\nwhile True:\n    pass", Status: sessions.StatusTimeout, Changed: true, ExecTime: limit})
	follow(journal.Execution{Code: "raise_me = 1\nraise SystemExit(3)", Status: sessions.StatusError, Changed: true})
	follow(journal.Execution{Code: "lines = !echo 'a  b'; echo c\nif lines:\n    !echo shown \\\n  twice\n%matplotlib inline\nassert lines == ['a  b', 'c'], lines"})
	follow(journal.Execution{Code: "%%time\n%%capture out\nn = 4\n%time m = n + 1\nassert (n, m) == (4, 5)\nn?"})
	follow(journal.Execution{Code: "shown = !echo $n {m + 1} '$'\nassert shown == ['4 6 $'], shown\ndisplay(n)"})
	follow(journal.Execution{Code: "%%writefile text.txt\nit's \\n {n}\n"})
	follow(journal.Execution{Code: "assert open('text.txt').read() == \"it's \\\\n {n}\\n\"\nif n:\n    %who\n    x??\n%matplotlib inline"})
	follow(journal.Execution{Code: "%%bash\nfor i in 1 2; do\n    echo bash $i\ndone"})
	follow(journal.Execution{Code: "%%javascript\nalert(1)"})
	follow(journal.Execution{Code: ">>> p = 1\n>>> if p:\n...     p = 2\n2"})
	follow(journal.Execution{Code: "```python\np += 1\n```\nThat is all."})
	follow(journal.Execution{Code: "    here = %pwd\n    p += 1\n    assert p == 4 and here"})
	follow(journal.Execution{Code: "%timeit -n 3 1 + 0\n%env UNDERSTUDY_X=y z\nimport os\nassert os.environ['UNDERSTUDY_X'] == 'y z'"})
	follow(journal.Execution{Code: "%config InlineBackend.figure_format = 'retina'\n%reset -f\n%pdb on"})
	follow(journal.Execution{Code: "assert (In, Out, exit) == (1, 2, 3), 'IPython took the names'"})
	follow(journal.Execution{Code: "for i in range(2): last = !echo hi {i}\nassert last == ['hi 1'], last"})
	follow(journal.Execution{Code: "deep['b'[:1]] = !echo hi"})
	follow(journal.Execution{Code: "assert deep['b'] == ['hi']; last = !echo $n"})
	follow(journal.Execution{Code: "!echo hi\nreadme = '''\npip install foo\n'''\nassert readme == '\\npip install foo\\n', readme"})
	follow(journal.Execution{Code: "In [1]: q = 1"})
	follow(journal.Execution{Code: "In [1]: q += 1\n\nIn [2]: q += 1"})
	follow(journal.Execution{Code: "pwd"})
	follow(journal.Execution{Code: "ls -l"})
	follow(journal.Execution{Code: "cd ."})
	follow(journal.Execution{Code: "matplotlib inline"})
	follow(journal.Execution{Code: `r = 1\ns = "a\\n"\nif r:\n    r = 2`})
	follow(journal.Execution{Code: `s = \"b\"\nt = 3`})
	follow(journal.Execution{Code: "if 1 &lt; 4:\n    s += '&nbsp;'"})
	follow(journal.Execution{Code: "r = 1 &lt; 2"})
	follow(journal.Execution{Code: "assert (q, r, s, t) == (3, True, 'b&nbsp;', 3), (q, r, s, t)"})
	follow(journal.Execution{Code: "%pip --version\nassert _exit_code == 0"})
	follow(journal.Execution{Code: "echo command > file.txt\ncat file.txt", Kind: sessions.RunsCommand})
	follow(journal.Execution{Code: "find", Arguments: []byte(`{"a": "x\ny"}`), Kind: sessions.RunsPlugin})
	follow(journal.Execution{Code: "import inspect\nassert z == 'it\\'s\\n\"\"\"' and text == 'a\\n  b\\n', (z, text)\nscore = x + y + 2 * A().f()  # last", Trial: &journal.Trial{
		Plan: "Add\n\"\"\"it\"\"\" up.", Stage: sessions.StageDraft, MetricName: "score", Maximize: true, Metric: &metric}})
	return s
}

func TestTheBestSolutionRunsAndGivesItsMetric(t *testing.T) {
	path := filepath.Join(t.TempDir(), "best_solution.py")
	script := string(solution(newSolution().load(t)))
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
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
		if !strings.Contains(problems.String(), failed) {
			t.Errorf("no %s in %s", failed, problems.String())
		}
	}
	if strings.ContainsAny(script, "\x1b\u202e") || strings.Contains(problems.String(), "differs") {
		t.Errorf("%s\n%s", script, problems.String())
	}
	if !strings.Contains(script, `# Left out, as plugins live in the server: find(a="x\ny")`) {
		t.Errorf("the plugin's call is not named:\n%s", script)
	}
}
