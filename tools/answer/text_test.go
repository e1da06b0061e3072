package answer

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/txtar"

	"understudy/internal/screen"
	"understudy/sessions"
	"understudy/sessions/output"
)

// id is the interpreter of every example.
const id = "7f3a9c"

func ok() sessions.Result {
	return sessions.Result{InterpreterID: id, Execution: 3, Status: sessions.StatusOK, Success: true, ExecTime: 0.0031, TimeLimit: 3600}
}

func example(change func(*sessions.Result)) *sessions.Result {
	r := ok()
	change(&r)
	r.Success = r.Status == sessions.StatusOK
	return &r
}

func no() *bool { lost := false; return &lost }

func exit(code int) *int { return &code }

func yes() *bool { restored := true; return &restored }

const valueError = `Traceback (most recent call last):
  File "<execution 3>", line 2, in <module>
    int("x")
ValueError: invalid literal for int() with base 10: 'x'
`

// examples are results of every kind; their texts are testdata/answers.txtar.
var examples = []struct {
	name     string
	variable string
	result   *sessions.Result
}{
	{"silent", "", example(func(*sessions.Result) {})},
	{"printed", "", example(func(r *sessions.Result) { r.Stdout, r.Stderr = "one\ntwo\n", "careful" })},
	{"in order of arrival", "", example(func(r *sessions.Result) {
		r.Stdout, r.Stderr = "one\n\r 50%\r100%\nthree\n", "careful"
		r.Pieces = []screen.Piece{{Stream: 0, Text: "one\n\r 50%\r100%\n"}, {Stream: 1, Text: "careful"}, {Stream: 0, Text: "three\n"}}
	})},
	{"a log among prints", "", example(func(r *sessions.Result) {
		for i := range 5 {
			r.Pieces = append(r.Pieces, screen.Piece{Stream: 0, Text: fmt.Sprintf("step %d\n", i)}, screen.Piece{Stream: 1, Text: "INFO done\n"})
		}
	})},
	{"long output of both streams", "", example(func(r *sessions.Result) {
		r.Pieces = []screen.Piece{{Stream: 0, Text: "one\n"}, {Stream: 1, Text: numbered(200)}}
		r.Stdout, r.Stderr = r.Pieces[0].Text, r.Pieces[1].Text
	})},
	{"no newline at the end", "x", example(func(r *sessions.Result) {
		r.Stdout, r.Result, r.ResultType, r.ResultEncoding = "one", json.RawMessage("{\n \"a\": [1, 2,\n 3], \"b\": \"<é>\"}"), "dict", "json"
	})},
	{"repr", "x", example(func(r *sessions.Result) {
		r.Result, r.ResultType, r.ResultEncoding = json.RawMessage(`"<object object at 0x7f>\nsecond \"line\""`), "object", "repr"
	})},
	{"undefined", "nope", example(func(r *sessions.Result) {
		r.Result, r.ResultEncoding, r.Notes = json.RawMessage("null"), "json", []string{"nope is not defined"}
	})},
	{"command", "", example(func(r *sessions.Result) { r.Kind, r.ExitCode, r.Stdout = sessions.RunsCommand, exit(0), "one\n" })},
	{"command that fails", "", example(func(r *sessions.Result) {
		r.Kind, r.ExitCode, r.Status, r.Stderr = sessions.RunsCommand, exit(2), sessions.StatusError, "no such file\n"
	})},
	{"command at its time limit", "", example(func(r *sessions.Result) {
		r.Kind, r.Status, r.ExcType = sessions.RunsCommand, sessions.StatusTimeout, "TimeoutError"
	})},
	{"command in a crash", "", example(func(r *sessions.Result) {
		r.Kind, r.Status, r.InterpreterRestarted, r.RestartReason, r.StateRestored = sessions.RunsCommand, sessions.StatusCrashed, true, "killed (SIGKILL)", yes()
	})},
	{"answer of an earlier execution", "", example(func(r *sessions.Result) {
		r.Stdout, r.Heading, r.AnswersWaiting = "one\n", "This is the answer of execution 3; 1 more is waiting.", 1
	})},
	{"older state", "", example(func(r *sessions.Result) {
		r.Status, r.InterpreterRestarted, r.StateRestored, r.StateBefore, r.RestartReason = sessions.StatusCrashed, true, no(), 2, "killed (SIGKILL)"
		r.Notes = []string{"what execution 2 did to the variables could not be brought back: 2 Python threads are running"}
	})},
	{"restart before a time limit", "", example(func(r *sessions.Result) {
		r.Status, r.TimeLimit, r.InterpreterRestarted, r.RestartedBeforeRun, r.StateRestored = sessions.StatusTimeout, 1, true, true, yes()
		r.RestartReason = "the interpreter's process ended between two calls: killed by SIGKILL"
	})},
	{"older state before a run", "", example(func(r *sessions.Result) {
		r.InterpreterRestarted, r.RestartedBeforeRun, r.StateRestored, r.StateBefore, r.RestartReason = true, true, no(), 2, "killed (SIGKILL)"
	})},
	{"lost before a run", "", example(func(r *sessions.Result) {
		r.InterpreterRestarted, r.RestartedBeforeRun, r.StateRestored, r.RestartReason = true, true, no(), "killed (SIGKILL)"
	})},
	{"result of a wait", "", example(func(r *sessions.Result) { r.Result, r.ResultType = json.RawMessage("3"), "int" })},
	{"figures", "", example(func(r *sessions.Result) {
		r.Figures = []sessions.Figure{
			{Path: "/data/s/.matplotlib_figs/3-1.png", Width: 640, Height: 480, Title: "Sepal length\n by species"},
			{Path: "/data/s/.matplotlib_figs/3-2.png", Width: 8000, Height: 6000},
		}
		r.Variables = &sessions.VariableDiff{Added: []string{"df", "fig"}, Changed: []string{"y"}, Removed: []string{"tmp"}}
	})},
	{"artifacts", "", example(func(r *sessions.Result) {
		r.InterpreterID, r.Artifacts = "7f3a", []sessions.Artifact{
			{Name: "sales.csv", Kind: "df", Size: 24_000, Preview: "1,000 rows × 2 columns: region (str), units (int64)\n  region  units\n0  North      0\n… 999 more rows"},
			{Name: "my page.html", Kind: "html", Size: 4_823_707},
		}
	})},
	{"error", "", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.ExcType, r.Traceback = sessions.StatusError, "before\n", "ValueError", valueError
	})},
	{"error again", "", example(func(r *sessions.Result) {
		r.Status, r.ExcType, r.FailuresInARow = sessions.StatusError, "ValueError", 2
	})},
	{"error too often", "", example(func(r *sessions.Result) {
		r.Status, r.ExcType, r.FailuresInARow, r.Stop = sessions.StatusError, "ValueError", 3, "3 runs in a row have failed. Stop."
	})},
	{"error without a traceback", "", example(func(r *sessions.Result) {
		r.Status, r.ExcType, r.ExcInfo = sessions.StatusError, "SystemExit", &sessions.ExceptionInfo{Msg: "3"}
	})},
	{"time limit", "", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.ExcType, r.ExecTime, r.TimeLimit = sessions.StatusTimeout, "step 1\n", "TimeoutError", 65.02, 65
		r.Traceback = "Traceback (most recent call last):\n  File \"<execution 3>\", line 1, in <module>\nKeyboardInterrupt\n"
	})},
	{"time limit, killed", "", example(func(r *sessions.Result) {
		r.Status, r.ExcType, r.ExecTime, r.TimeLimit = sessions.StatusTimeout, "TimeoutError", 7, 2
		r.InterpreterRestarted, r.StateRestored, r.RestartReason = true, no(), "the code ignored the interrupt for 5s and its process was killed"
		r.Notes = []string{"2 child processes were ended with it"}
	})},
	{"time limit, undone since", "", example(func(r *sessions.Result) {
		r.Status, r.Undone, r.Variables = sessions.StatusTimeout, true, &sessions.VariableDiff{Added: []string{"x"}}
	})},
	{"crash, undone since", "", example(func(r *sessions.Result) {
		restored := true
		r.Status, r.Undone, r.InterpreterRestarted, r.RestartReason, r.StateRestored = sessions.StatusCrashed, true, true, "killed (SIGKILL)", &restored
	})},
	{"interrupted", "", example(func(r *sessions.Result) { r.Status, r.ExecTime, r.Stdout = sessions.StatusInterrupted, 12, "a\n" })},
	{"crashed", "", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.ExcType = sessions.StatusCrashed, "before\n", "InterpreterCrash"
		r.InterpreterRestarted, r.StateRestored, r.RestartReason = true, no(), "segmentation fault (SIGSEGV) at line 2 of <execution 3>: ctypes.string_at(0)"
	})},
	{"crashed, restored", "", example(func(r *sessions.Result) {
		r.Status, r.InterpreterRestarted, r.StateRestored, r.RestartReason = sessions.StatusCrashed, true, yes(), "killed (SIGKILL)"
		r.Notes, r.Recoverable = []string{"2 child processes that the earlier calls had started were ended (pids 123, 124)"}, yes()
	})},
	{"crashed, not restored", "", example(func(r *sessions.Result) {
		r.Status, r.InterpreterRestarted, r.StateRestored, r.RestartReason = sessions.StatusCrashed, true, no(), "killed (SIGKILL)"
		r.Notes, r.Recoverable = []string{"the variables could not be brought back: 2 Python threads are running (Thread-1, Thread-2)"}, yes()
	})},
	{"time limit, killed, restored", "", example(func(r *sessions.Result) {
		r.Status, r.ExcType, r.ExecTime, r.TimeLimit = sessions.StatusTimeout, "TimeoutError", 7, 2
		r.InterpreterRestarted, r.StateRestored, r.RestartReason = true, yes(), "the code ignored the interrupt for 5 seconds and its process was killed"
	})},
	{"not recoverable", "", example(func(r *sessions.Result) {
		r.Recoverable, r.Notes = no(), []string{"if a later call crashes, the variables can't be brought back: 2 Python threads are running (Thread-1, Thread-2)"}
	})},
	{"crashed, silent about the state", "", example(func(r *sessions.Result) { r.Status, r.InterpreterRestarted = sessions.StatusCrashed, true })},
	{"crashed, none started", "", example(func(r *sessions.Result) {
		r.Status, r.StateRestored, r.StateBefore, r.RestartReason = sessions.StatusCrashed, no(), 2, "out of memory"
		r.Notes = []string{"a fresh interpreter could not be started: no space left; the next call tries again"}
	})},
	{"died between calls", "", example(func(r *sessions.Result) {
		r.Stdout, r.InterpreterRestarted, r.StateRestored, r.RestartReason = "1\n", true, no(), "the process was killed (SIGKILL)"
	})},
	{"running", "", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.ExecTime = sessions.StatusRunning, "epoch 1\n", 45.01
	})},
	{"asking", "", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.Prompt = sessions.StatusAsking, "name? ", "name? "
	})},
	{"asking, seen before", "", example(func(r *sessions.Result) { r.Status, r.Prompt = sessions.StatusAsking, "name? " })},
	{"asking without a prompt", "", example(func(r *sessions.Result) { r.Status = sessions.StatusAsking })},
	{"asking a person", "", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.Prompt, r.PersonAsked = sessions.StatusAsking, "name? ", "name? ", true
	})},
	{"trial, the last", "", example(func(r *sessions.Result) { r.Trial = trial(2, func(t *sessions.TrialReport) { t.Steps = 2 }) })},
	{"trial, one too many", "", example(func(r *sessions.Result) { r.Trial = trial(5, func(t *sessions.TrialReport) { t.Steps = 2 }) })},
	{"trial, of some", "", example(func(r *sessions.Result) { r.Trial = trial(1, func(t *sessions.TrialReport) { t.Steps = 2 }) })},
	{"trial, draft", "", example(func(r *sessions.Result) { r.Trial = trial(1, func(t *sessions.TrialReport) {}) })},
	{"trial, improve", "", example(func(r *sessions.Result) {
		r.Trial = trial(7, func(t *sessions.TrialReport) {
			t.Stage, t.Parent = sessions.StageImprove, 4
			t.Best = &sessions.BestTrial{Number: 4, InterpreterID: "3fa9", Execution: 12, Metric: 0.921}
		})
	})},
	{"trial, buggy", "", example(func(r *sessions.Result) {
		r.Status, r.ExcType, r.Traceback, r.FailuresInARow = sessions.StatusError, "ValueError", valueError, 2
		r.Trial = trial(3, func(t *sessions.TrialReport) {
			t.Stage, t.Parent, t.Depth, t.Buggy, t.Why, t.Metric, t.Best = sessions.StageDebug, 2, 2, true, "ValueError: invalid\nliteral.", nil, nil
		})
	})},
	{"trial, buggy too often", "", example(func(r *sessions.Result) {
		r.Status, r.FailuresInARow, r.Stop = sessions.StatusError, 4, "4 runs in a row have failed. Stop."
		r.Trial = trial(5, func(t *sessions.TrialReport) {
			t.Stage, t.Parent, t.Depth, t.Buggy, t.Why, t.Metric = sessions.StageDebug, 4, 3, true, "score is nan", nil
			t.Best = &sessions.BestTrial{Number: 1, InterpreterID: "3fa9", Execution: 2, Metric: 12.5}
		})
	})},
	{"trial without a metric", "", example(func(r *sessions.Result) {
		r.Trial = trial(2, func(t *sessions.TrialReport) { t.Name, t.Metric, t.Maximize, t.Best = "", nil, nil, nil })
	})},
	{"no limit", "", example(func(r *sessions.Result) { r.TimeLimit = 0 })},
	{"whole output kept", "", example(func(r *sessions.Result) {
		r.Stdout, r.StdoutTruncated, r.OutputPath = "head"+output.Marker(9000)+"tail\n", 9000, "/data/s/output/3/stdout"
	})},
	{"long output", "", example(func(r *sessions.Result) {
		r.Stdout, r.Stderr = numbered(300), strings.Repeat("!", 100)
	})},
	{"everything too long", "x", example(func(r *sessions.Result) {
		r.Status, r.Stdout, r.Stderr = sessions.StatusError, "out\n"+numbered(500), "err\n"+numbered(500)
		r.Result = json.RawMessage("[" + strings.Repeat("1,", 1000) + "1]")
		r.Traceback = "Traceback:\n" + strings.Repeat("  frame\n", 500) + "RecursionError: too deep"
		r.Notes = []string{strings.Repeat("note ", 200)}
		for range 30 {
			r.Figures = append(r.Figures, sessions.Figure{Path: "/data/figure.png", Width: 64, Height: 48, Title: strings.Repeat("T", 500)})
		}
		r.Variables = &sessions.VariableDiff{Added: slices.Repeat([]string{"name"}, 100)}
		for range 100 {
			r.Artifacts = append(r.Artifacts, sessions.Artifact{Name: "a.txt", Kind: "txt", Path: "/data/a.txt", Preview: strings.Repeat("p\n", 1000)})
		}
	})},
}

// trial is the report of a draft that is the best so far, as change has it.
func trial(number int, change func(*sessions.TrialReport)) *sessions.TrialReport {
	less, score := false, 0.12345678901
	t := &sessions.TrialReport{
		Number: number, Stage: sessions.StageDraft, Name: "loss", Metric: &score, Maximize: &less,
		Best: &sessions.BestTrial{Number: number, InterpreterID: id, Execution: 3, Metric: score},
	}
	change(t)
	return t
}

// TestText compares every kind of answer with what was read and found good.
func TestText(t *testing.T) {
	const file = "testdata/answers.txtar"
	var got txtar.Archive
	got.Comment = []byte("What a model reads of every kind of result, with a budget of 1000 characters.\nRewritten by go test ./tools -update; read it before you commit it.\n")
	for _, e := range examples {
		text := view{Result: Located(advised(e.result, sessions.Search{Drafts: 5, DebugDepth: 3, DebugProb: 1})), Call: Call{Variable: e.variable}, budget: 1000}.text()
		got.Files = append(got.Files, txtar.File{Name: e.name, Data: []byte(text + "\n")})
	}
	if *update {
		must(t, os.WriteFile(file, txtar.Format(&got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	diff := cmp.Diff(string(want), string(txtar.Format(&got)))
	expect(t, diff == "", "texts differ from %s (-want +got)\n%s", file, diff)
}

// TestTextBudget: within any sensible budget, nothing that matters is lost.
func TestTextBudget(t *testing.T) {
	for _, e := range examples {
		for _, budget := range []int{1000, 5000, 40_000} {
			v := view{Result: e.result, Call: Call{Variable: e.variable}, budget: budget}
			text := v.text()
			if n := utf8.RuneCountInString(text); n > budget+350 { // lines of fixed length may pass a small budget
				t.Errorf("%s: %d characters with a budget of %d", e.name, n, budget)
			}
			expect(t, utf8.ValidString(text) && strings.HasSuffix(text, v.closing()), "%s: broken or without its closing line", e.name)
			trace := e.result.Traceback
			expect(t, strings.Contains(text, lastLine(trace)), "%s: the error %q is cut away", e.name, lastLine(trace))
		}
	}
}

// TestOutputGetsWhatIsLeft: a short result and a long output share the budget
// so that neither leaves room unused.
func TestOutputGetsWhatIsLeft(t *testing.T) {
	r := example(func(r *sessions.Result) {
		r.Stdout, r.Result = strings.Repeat("o", 10_000), json.RawMessage(`"`+strings.Repeat("r", 10_000)+`"`)
	})
	text := view{Result: r, Call: Call{Variable: "x"}, budget: 4000}.text()
	outputs, results := strings.Count(text, "o"), strings.Count(text, "r")
	expect(t, outputs >= 2700 && results >= 800 && len(text) <= 4000 && len(text) >= 3800, "%d of output, %d of the result, %d in all", outputs, results, len(text))
	r.Stdout = "short\n"
	text = (view{Result: r, Call: Call{Variable: "x"}, budget: 4000}).text()
	expect(t, strings.Count(text, "r") >= 3600, "the result got %d characters though the output is short", strings.Count(text, "r"))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// TestManyNames: those that the worker has only counted count, too.
func TestManyNames(t *testing.T) {
	names := slices.Repeat([]string{"x"}, 1000)
	r := example(func(r *sessions.Result) {
		r.Variables = &sessions.VariableDiff{Added: names, More: map[string]int{"added": 29_002}}
	})
	text := (view{Result: r, budget: 4000}).text()
	expect(t, strings.Contains(text, " and 29982 more"), "%+v", text)
}

// TestPlainlyAssigned: what the code says of itself is not told again.
func TestPlainlyAssigned(t *testing.T) {
	for code, names := range map[string]map[string]bool{
		"df = load()\nclean(df2)":       {"df": true, "df2": false},
		"a, *c = f(); d[0] = 1; e += 2": {"a": true, "c": true, "d": true, "e": true},
		"import numpy as np\nfrom x import y, z\ndef f(q): pass\nclass C: pass": {"np": true, "y": true, "z": true, "f": true, "C": true},
		"for i, row in enumerate(rows): rows.append(i)":                         {"i": true, "row": true, "other": false},
		"with open(p) as handle: pass\nif (n := 3): pass\ndel gone":             {"handle": true, "n": true, "gone": true},
		"for row in rows: row.update(x=1)\nwith lock: n.f(1)":                   {"row": true, "rows": false, "lock": false},
		"async def g(): cfg.append(1)\nfor (a, b), *c in d: pass":               {"g": true, "cfg": false, "a": true, "b": true, "c": true, "d": false},
		"exec('hidden = 1')\ncfg.update(x=1)\nif a == b: pass":                  {"hidden": false, "cfg": false, "a": false, "b": false},
		"df[\"a\"] = 1\nmean.loc[mean.b == 3, 'c'] -= 2\nfig.x.y = 3":           {"df": true, "mean": true, "fig": true},
		"df.drop(columns=1, inplace=True)\nf(a[0] == 1)":                        {"df": false, "a": false},
		"s: str = 'x = 1'\nprint('y = 2')":                                      {"s": true, "y": false},
	} {
		for name, want := range names {
			expect(t, assigns(code, name) == want, "%q in %q: %v", name, code, !want)
		}
	}
}

// TestWhatRanIsNoError: isError is for what did not run, which has no record.
func TestWhatRanIsNoError(t *testing.T) {
	for _, e := range examples {
		got := box(Options{}).Answer(t.Context(), mcp.CallToolRequest{}, e.result, Call{Variable: e.variable})
		expect(t, !got.IsError, "%s: isError", e.name)
	}
}
