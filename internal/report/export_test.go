package report

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/journal"
	"understudy/sessions"
)

// shelf is a journal in memory.
type shelf struct {
	executions   []journal.Execution
	interpreters []journal.Interpreter
	experiments  []string
}

func (s *shelf) Runs(context.Context, int) ([]journal.Run, error) {
	return []journal.Run{{ID: "NEWER"}, {ID: "OLDER"}}, nil
}

func (s *shelf) Run(_ context.Context, id string) (*journal.Run, error) {
	return &journal.Run{ID: id}, nil
}

func (s *shelf) Interpreter(_ context.Context, id string) (*journal.Interpreter, error) {
	for i := range s.interpreters {
		if strings.HasPrefix(s.interpreters[i].ID, id) {
			return &s.interpreters[i], nil
		}
	}
	return nil, errors.New("no such interpreter")
}

func (s *shelf) Executions(_ context.Context, q journal.Query) ([]journal.Execution, error) {
	return slices.DeleteFunc(slices.Clone(s.executions), func(e journal.Execution) bool {
		return q.Run != e.Run || q.Interpreter != "" && q.Interpreter != e.Place.InterpreterID ||
			q.Trials && (e.Trial == nil || e.Trial.Experiment != q.Experiment)
	}), nil
}

func (s *shelf) Experiments(_ context.Context, run string) ([]string, error) {
	if run != "OLDER" {
		return nil, nil
	}
	return s.experiments, nil
}

func (s *shelf) Line(_ context.Context, id int64) ([]journal.Execution, error) {
	var line []journal.Execution
	for ; id > 0; id = s.executions[id-1].Parent {
		line = append(line, s.executions[id-1])
	}
	slices.Reverse(line)
	return line, nil
}

// newShelf has interpreter aaaa: 1, 2 (crashed), 3 on 1, 4 on 3 (undone); its branch
// bbbb from 3 with one execution, the best trial; cccc, a branch that ran nothing; and
// dddd, whose variables were fresh in the end.
func newShelf() *shelf {
	at := func(id string, n int) sessions.StateRef { return sessions.StateRef{InterpreterID: id, Execution: n} }
	score := 0.5
	return &shelf{
		executions: []journal.Execution{
			{ID: 1, Place: at("aaaa", 1), Code: "one", Status: sessions.StatusOK, Run: "OLDER"},
			{ID: 2, Place: at("aaaa", 2), Code: "two", Status: sessions.StatusCrashed, Parent: 1, Run: "OLDER"},
			{ID: 3, Place: at("aaaa", 3), Code: "three", Status: sessions.StatusError, Parent: 1, Run: "OLDER"},
			{ID: 4, Place: at("aaaa", 4), Code: "four", Status: sessions.StatusOK, Parent: 3, Run: "OLDER"},
			{ID: 5, Place: at("bbbb", 4), Code: "five", Status: sessions.StatusOK, Parent: 3, Run: "OLDER", Trial: &journal.Trial{Experiment: "x", Number: 1, MetricName: "score", Maximize: true, Metric: &score}},
			{ID: 6, Place: at("dddd", 1), Code: "six", Status: sessions.StatusOK, Run: "OLDER"},
		},
		interpreters: []journal.Interpreter{
			{ID: "dddd", Run: "OLDER"},
			{ID: "aaaa", Run: "OLDER", Present: at("aaaa", 3)},
			{ID: "bbbb", Run: "OLDER", Present: at("bbbb", 4)},
			{ID: "cccc", Run: "OLDER", Present: at("aaaa", 3)},
		},
		experiments: []string{"x", "nothing measured"},
	}
}

func TestFind(t *testing.T) {
	for what, want := range map[string]string{
		"":       "-six",
		"a":      "one -two three -four",
		"aaaa@4": "one -two three four",
		"aaaa@2": "one -two",
		"aaaa@1": "one",
		"bbbb":   "one three five",
		"cccc":   "one three",
		"best":   "one three five",
	} {
		d, err := Find(t.Context(), newShelf(), what)
		if err != nil {
			t.Errorf("%q: %v", what, err)
			continue
		}
		var got []string
		for _, c := range d.Cells {
			if c.Skipped {
				c.Code = "-" + c.Code
			}
			got = append(got, c.Code)
		}
		expect(t, strings.Join(got, " ") == want, "%q: %v, want %v", what, got, want)
	}
}

func TestWhatCantBeFound(t *testing.T) {
	for what, want := range map[string]string{
		"zzzz":   "no such interpreter",
		"aaaa@":  "number of an execution",
		"aaaa@x": "number of an execution",
		"aaaa@0": "number of an execution",
		"aaaa@9": "the last one is 4",
		"cccc@1": "has run nothing",
	} {
		_, err := Find(t.Context(), newShelf(), what)
		expect(t, err != nil && strings.Contains(err.Error(), want), "%q: %v", what, err)
	}
	empty := newShelf()
	empty.experiments = nil
	_, err := Find(t.Context(), empty, "best")
	expect(t, err != nil && strings.Contains(err.Error(), "no trial with a metric"), "%v", err)
}

func TestOutputIsInOrder(t *testing.T) {
	for name, test := range map[string]struct {
		pieces         []string
		stdout, stderr string
		want           []string // nil where the order isn't known
	}{
		"nothing":       {nil, "", "", []string{}},
		"one":           {[]string{"a\n"}, "a\n", "", []string{"stdout a\n"}},
		"stderr first":  {[]string{"e", "a", "f"}, "a", "ef", []string{"stderr e", "stdout a", "stderr f"}},
		"the same":      {[]string{"a", "a", "b"}, "ab", "a", []string{"stdout a", "stderr a", "stdout b"}},
		"with a line":   {[]string{"a", "Execution time: 1 second."}, "a", "", []string{"stdout a"}},
		"only a line":   {[]string{"Execution time: 1 second."}, "", "", []string{}},
		"left out":      {[]string{"a", "[5 characters truncated]", "b"}, "aaaaaab", "", nil},
		"two after all": {[]string{"a", "b", "traceback"}, "a", "b", []string{"stdout a", "stderr b"}},
	} {
		got, known := inOrder(test.pieces, test.stdout, test.stderr)
		if known != (test.want != nil) {
			t.Errorf("%s: known %v", name, known)
			continue
		}
		if !known {
			continue
		}
		said := []string{}
		for _, o := range got {
			said = append(said, o.Name+" "+o.Text)
		}
		diff := cmp.Diff(test.want, said)
		expect(t, diff == "", "%s: %s", name, diff)
	}
}

func TestWholeOutput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out")
	must(t, os.WriteFile(file, []byte("all of it \xff"), 0o600))
	for name, test := range map[string]struct {
		output     journal.Output
		text, note string
	}{
		"short":     {journal.Output{Text: "short", Size: 5}, "short", ""},
		"a file":    {journal.Output{Text: "a…t", Path: file, Size: 11}, "all of it �", ""},
		"too long":  {journal.Output{Text: "a…t", Path: file, Size: wholeLimit + 1}, "a…t", "[this is not all of stdout: it had 1048577 bytes; what was kept is in " + file + "]"},
		"lost":      {journal.Output{Text: "a…t", Path: file, Size: 11, Lost: 4}, "all of it �", "[this is not all of stdout: it had 15 bytes; what was kept is in " + file + "]"},
		"gone":      {journal.Output{Text: "a…t", Path: file + "x", Size: 11}, "a…t", "[this is not all of stdout: it had 11 bytes; what was kept is in " + file + "x]"},
		"lost only": {journal.Output{Text: "a…t", Size: 3, Lost: 4}, "a…t", "[this is not all of stdout: it had 7 bytes]"},
	} {
		text, note := whole(test.output, "stdout")
		expect(t, text == test.text && note == test.note, "%s: %q, %q", name, text, note)
	}
}

func TestMessageOfAnException(t *testing.T) {
	arg := []json.RawMessage{json.RawMessage(`"said"`)}
	for name, test := range map[string]struct {
		result sessions.Result
		want   output
	}{
		"usual":     {sessions.Result{ExcType: "ValueError", Traceback: "Traceback\n  ...\nValueError: a: b\n"}, output{Name: "ValueError", Value: "a: b"}},
		"lines":     {sessions.Result{ExcType: "ValueError", Traceback: "ValueError: a\nb\n"}, output{Name: "ValueError", Value: "a\nb"}},
		"qualified": {sessions.Result{ExcType: "json.JSONDecodeError", Traceback: "json.decoder.JSONDecodeError: bad\n"}, output{Name: "JSONDecodeError", Value: "bad"}},
		"arguments": {sessions.Result{ExcType: "TimeoutError", ExcInfo: &sessions.ExceptionInfo{Args: arg}}, output{Name: "TimeoutError", Value: "said"}},
		"nothing":   {sessions.Result{ExcType: "KeyboardInterrupt", Traceback: "KeyboardInterrupt\n"}, output{Name: "KeyboardInterrupt"}},
	} {
		got := errorOf(test.result)
		expect(t, got.Name == test.want.Name && got.Value == test.want.Value, "%s: %q, %q", name, got.Name, got.Value)
	}
}

// hostileDocument is a document whose every text wants to be more than text.
func hostileDocument(t *testing.T) *Document {
	t.Helper()
	const evil = "</script></pre><script>document.title='x'</script><img src=x onerror=alert(1)>\n```\n]]> [a](javascript:alert(1)) <!--"
	dir := t.TempDir()
	svg, page := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.html")
	for _, file := range []string{svg, page} {
		must(t, os.WriteFile(file, []byte(evil), 0o600))
	}
	yes := true
	detail := &journal.Detail{
		Record: sessions.Result{
			ExcType: "ValueError", Traceback: "Traceback (most recent call last):\nValueError: " + evil,
			InterpreterRestarted: true, RestartReason: evil, StateRestored: &yes,
		},
		TermOut: []string{evil, "\x1b[31mred\x1b[0m"}, Stdout: journal.Output{Text: evil}, Stderr: journal.Output{Text: "\x1b[31mred\x1b[0m"},
		Figures: []journal.Figure{{Figure: sessions.Figure{MIMEType: "image/png", Title: evil}, File: svg}, {Figure: sessions.Figure{MIMEType: "image/png"}}},
		Artifacts: []journal.Artifact{
			{Artifact: sessions.Artifact{Name: evil, Kind: "svg", MIMEType: "image/svg+xml"}, File: svg},
			{Artifact: sessions.Artifact{Name: evil, Kind: "html", MIMEType: "text/html", Preview: evil}, File: page},
			{Artifact: sessions.Artifact{Name: evil, Kind: "image", MIMEType: `image/x"><script>`}, File: svg},
			{Artifact: sessions.Artifact{Name: "t.csv", Kind: "df", MIMEType: "text/csv", Preview: evil}, File: page},
		},
	}
	failed := journal.Execution{ID: 1, Place: sessions.StateRef{InterpreterID: "aaaa", Execution: 1}, Kind: sessions.RunsCode, Code: evil, Status: sessions.StatusError, Detail: detail, ExecTime: time.Second, Trial: &journal.Trial{Number: 1, Stage: evil, Plan: evil, Buggy: true, Why: evil}}
	crashed := failed
	crashed.ID, crashed.Status = 2, sessions.StatusCrashed
	return &Document{
		Run: journal.Run{ID: evil, Version: evil, Python: evil}, Interpreter: journal.Interpreter{ID: evil, Workdir: evil},
		Cells: newCells([]journal.Execution{failed, crashed}),
	}
}

func TestNothingHostileGetsOutOfAPage(t *testing.T) {
	page, err := hostileDocument(t).Page()
	must(t, err)
	text := string(page)
	for _, never := range []string{"<script", "<img src=x", "</pre><", "\x1b"} {
		expect(t, !strings.Contains(strings.ToLower(text), never), "the page has %q", never)
	}
	for _, part := range []string{`http-equiv="Content-Security-Policy" content="default-src 'none';`, "data:image/svg&#43;xml;base64,", "&lt;script&gt;", ">\nred</pre>", "its file was not kept"} {
		expect(t, strings.Contains(text, part), "the page has no %q", part)
	}
}

func TestNothingHostileGetsOutOfANotebook(t *testing.T) {
	text, err := hostileDocument(t).Notebook()
	must(t, err)
	var n struct {
		Cells []struct {
			ID, Source string
			Type       string `json:"cell_type"`
			Outputs    []struct{ Data map[string]string }
		}
	}
	must(t, json.Unmarshal(text, &n))
	ids := map[string]bool{}
	for _, c := range n.Cells {
		expect(t, !ids[c.ID] && c.ID != "", "the id %q is there twice, or empty", c.ID)
		ids[c.ID] = true
		outside := outsideFences(c.Source)
		if c.Type == "markdown" && (strings.Contains(outside, "<script") || strings.Contains(outside, " [a]")) {
			t.Errorf("Markdown that is read as such: %q", outside)
		}
		for _, o := range c.Outputs {
			if page := o.Data["text/html"]; page != "" && (strings.Contains(page, "<script") || !strings.HasPrefix(page, `<iframe sandbox="allow-scripts" `)) {
				t.Errorf("a page outside of a frame: %q", page)
			}
		}
	}
	for _, id := range []string{"heading", "setup", "before-1", "execution-1", "after-1", "before-2", "after-2"} {
		expect(t, ids[id], "there is no cell %s", id)
	}
	expect(t, !ids["execution-2"], "a crash would be run again")
}

// outsideFences is what of a Markdown text is not in blocks of code.
func outsideFences(text string) string {
	var outside []string
	fence := ""
	for line := range strings.Lines(text) {
		marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(marks) >= 3:
			fence = marks
		case fence != "" && strings.TrimSpace(line) == fence:
			fence = ""
		case fence == "":
			outside = append(outside, line)
		}
	}
	return strings.Join(outside, "")
}

func TestSetupIsToldOfTheSettings(t *testing.T) {
	for config, want := range map[string]string{
		"":                              `_understudy(echo="all", warn=True, numbers=[3, 5])`,
		"echo: last\nwarnings: default": `_understudy(echo="last", warn=True, numbers=[3, 5])`,
		"echo: none\nwarnings: ignore":  `_understudy(echo="none", warn=False, numbers=[3, 5])`,
		"echo: '\")'":                   `_understudy(echo="all", warn=True, numbers=[3, 5])`,
		": [":                           `_understudy(echo="all", warn=True, numbers=[3, 5])`,
	} {
		d := &Document{Run: journal.Run{Config: config}, Interpreter: journal.Interpreter{Workdir: "/a\n!b"}}
		for _, n := range []int{3, 4, 5} {
			d.Cells = append(d.Cells, Cell{Skipped: n == 4, Execution: journal.Execution{Place: sessions.StateRef{Execution: n}}})
		}
		source, _ := d.setup()["source"].(string)
		if !strings.Contains(source, "\n"+want+"\n") || !strings.HasSuffix(source, "\n# %cd /a !b") {
			t.Errorf("%q: %q", config, source[len(source)-200:])
		}
	}
}

func TestNotebookHasNothingThatMayNotEnd(t *testing.T) {
	d := &Document{Cells: newCells([]journal.Execution{
		{ID: 1, Status: sessions.StatusTimeout, Changed: true, Code: "while True: x = 1"},
		{ID: 2, Status: sessions.StatusOK, Code: "x"},
	})}
	text, err := d.Notebook()
	must(t, err)
	if strings.Contains(string(text), `"id": "execution-1"`) || !strings.Contains(string(text), "what is below may miss what it had set") {
		t.Errorf("%s", text)
	}
	expect(t, !d.Cells[0].Skipped, "the document has changed")
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.ipynb"), filepath.Join(dir, "link")
	for _, text := range []string{"first, longer", "second"} {
		must(t, Save(file, []byte(text)))
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	must(t, Save(link, []byte("third")))
	if got, err := os.ReadFile(file); err != nil || string(got) != "third" {
		t.Errorf("%q, %v", got, err)
	}
	must(t, Save(os.DevNull, []byte("x")))
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the null device is %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	expect(t, err == nil && len(left) == 2, "%v, %v", left, err)
	if err := Save(filepath.Join(dir, "nowhere", "a"), nil); err == nil {
		t.Error("a directory that isn't there was written to")
	}
}
