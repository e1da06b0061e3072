package report

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/journal"
	"understudy/sessions"
)

// text is the result of a tool that said one thing.
func text(said string) json.RawMessage {
	encoded, _ := json.Marshal(object{"content": []object{{"type": "text", "text": said}}})
	return encoded
}

// use is a call that went well.
func use(server, tool, arguments string, result json.RawMessage) sessions.ToolUse {
	u := sessions.ToolUse{Server: server, Tool: tool, Seconds: 0.45, Status: sessions.ToolOK, Result: result, Bytes: 12_000}
	if arguments != "" {
		u.Arguments = json.RawMessage(arguments)
	}
	return u
}

// cellOf is code that ran well, with its calls.
func cellOf(number int, code string, uses ...sessions.ToolUse) journal.Execution {
	return journal.Execution{
		ID: int64(number), Place: sessions.StateRef{InterpreterID: "aaaa", Execution: number}, Kind: sessions.RunsCode, Code: code, Status: sessions.StatusOK,
		Detail: &journal.Detail{Python: new(string), ToolUses: uses},
	}
}

func TestToolCallsAreSaid(t *testing.T) {
	denied := sessions.ToolUse{Server: "github", Tool: "drop", Arguments: []byte(`{"all":true}`), Status: "denied", Message: "ask\nthe \x1b user"}
	e := cellOf(1, "x", use("github", "search_issues", `{"query":"x","n":null}`, nil), use("time", "now", "", nil), denied)
	got := commented(newCell(e))
	want := "x\n\n# mcptools: github.search_issues(n=None, query=\"x\") → 12 KB in 0.4 s\n# mcptools: time.now(…) → 12 KB in 0.4 s\n" +
		"# mcptools: github.drop(all=True) → denied in 0 ms: ask the "
	expect(t, strings.HasPrefix(got, want) && !strings.Contains(got, "\x1b"), "got %s\nwant %s", got, want)

	for range 50 {
		e.Detail.ToolUses = append(e.Detail.ToolUses, use("time", "now", `{"zone":"`+strings.Repeat("é", 500)+`"}`, nil))
	}
	e.Detail.Record.ToolCalls = &sessions.ToolCalls{Count: 60}
	lines := strings.Split(strings.TrimSpace(commented(newCell(e))), "\n")
	expect(t, len(lines) == 2+toolCallLines+1 && lines[len(lines)-1] == "# mcptools: and 40 more", "%d lines, the last %s", len(lines), lines[len(lines)-1])
	for _, line := range lines {
		expect(t, len([]rune(line)) < 200, "a line has %d characters", len([]rune(line)))
	}
	e = cellOf(2, "y")
	expect(t, commented(newCell(e)) == "y" && toolCounts([]journal.Execution{e}) == "", "calls of what made none")
	e.ToolCalls = map[string]int{"time": 2, "git_hub": 10}
	counts := toolCounts([]journal.Execution{e, {ToolCalls: map[string]int{"time": 1}}})
	expect(t, counts == `13 calls (git\_hub 10, time 3)`, "%s", counts)
}

// withTools calls tools in each of the ways that code may, and checks what it gets. Some of
// what it needs is not kept.
func withTools() []journal.Execution {
	failed := sessions.ToolUse{Server: "git-hub", Tool: "searchIssues", Arguments: []byte(`{"query":"bad"}`), Status: "error", Message: "no such '''query'''"}
	return []journal.Execution{
		cellOf(1, "import mcptools\nfrom mcptools import git_hub, time\nfrom mcptools.git_hub import search_issues\nsorted = AttributeError = list = type = super = str = None"),
		cellOf(2, "first = git_hub.search_issues(query='x', n=5)\nsecond = search_issues('x', 5)\nagain = git_hub.search_issues('x', n=5, more=None)\n"+
			"assert (first, second, again) == ({'found': [1]}, {'found': [2]}, {'found': [2]}), (first, second, again)\nfirst['found'].append(3)\nassert again == second",
			use("git-hub", "searchIssues", `{"query":"x","n":5}`, []byte(`{"structured":{"found":[1]},"content":[]}`)),
			use("git-hub", "searchIssues", `{"query":"x","n":5}`, []byte(`{"structured":{"found":[2]}}`))),
		cellOf(3, "try:\n    git_hub.search_issues(query='bad')\nexcept mcptools.ToolError as error:\n    assert (error.args[0], error.kind, error.server, error.tool) == (\"no such '''query'''\", 'error', 'git-hub', 'searchIssues'), error\nelse:\n    raise AssertionError('it worked')", failed),
		cellOf(4, "assert time.now() == 'it\\'s \\u2028 \\x85 \\u202e \\\\n noon', time.now()\nassert time.zones(class_=[1, {'b': 2, 'a': None}]) == ['a', 'b']\nassert time.long(anything=1) == 'L'",
			use("time", "now", `{}`, text("it's \u2028 \u0085 \u202e \\n noon")),
			use("time", "zones", `{"class":[1,{"a":null,"b":2}]}`, []byte(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)),
			use("time", "long", "", text("L"))),
		cellOf(5, "said = []\nfor call in (lambda: time.picture(), lambda: time.huge(), lambda: time.now(zone='x'), lambda: mcptools.other.tool()):\n"+
			"    try:\n        call()\n    except mcptools.ToolError as error:\n        said.append(error.args[0])\nprint(*said, sep='\\n')",
			use("time", "picture", `{}`, []byte(`{"content":[{"type":"image","mime_type":"image/png","attachment":0}]}`)),
			use("time", "huge", `{}`, nil)),
		cellOf(6, "assert [(s.name, s.module, s.state, s.tools) for s in mcptools.servers()] == [('git-hub', 'git_hub', 'ready', 1), ('time', 'time', 'ready', 6)]"),
		cellOf(7, "from mcptools.aio import time as later\nimport asyncio, mcptools.aio, mcptools.aio.git_hub\nasync def both():\n    return await asyncio.gather(later.now(), mcptools.aio.git_hub.search_issues('x', n=5))\n"+
			"assert asyncio.run(both())[1] == {'found': [2]}"),
		cellOf(8, "import datetime, enum, pathlib\nclass Colour(enum.Enum):\n    RED = 'red'\n"+
			"assert time.convert(datetime.datetime(2026, 1, 2), n=2.0, of=[pathlib.PurePosixPath('a'), (Colour.RED, {1})], no=None) is None",
			use("time", "convert", `{"when":"2026-01-02T00:00:00","n":2,"of":["a",["red",[1]]]}`, []byte(`{"content":[]}`))),
	}
}

const saidOfTools = "the result of time.picture is not kept: it has parts of type image, of which the journal keeps none\n" +
	"the result of time.huge is not kept: it was too long\n" +
	"the session did not call time.now with these arguments, and the other server is not asked here\n" +
	"the session did not call other.tool with these arguments, and the other server is not asked here\n"

func TestAScriptHasWhatItsToolsGave(t *testing.T) {
	d := &Document{Cells: newCells(withTools())}
	script := string(d.Script())
	expect(t, strings.Contains(script, "\n# mcptools: git-hub.searchIssues(query=\"bad\") → error in 0 ms: no such"), "the calls are not said:\n%s", script)
	expect(t, !strings.Contains(script, "\u202e"), "a character that turns what is behind it")
	runs(t, script)
	d.Cells = newCells([]journal.Execution{cellOf(1, "mcp = 1")})
	expect(t, !strings.Contains(string(d.Script()), "mcptools"), "what calls no tools has a stand-in:\n%s", d.Script())
	d.Cells = newCells([]journal.Execution{cellOf(1, "import mcptools\nassert mcptools.servers() == []\nprint('done')")})
	expect(t, strings.HasSuffix(printedBy(t, string(d.Script())), "done\n"), "what calls none has no mcptools")
}

// runCells runs the cells of a notebook as a kernel does.
const runCells = `
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        shell.run_cell(cell["source"], store_history=True).raise_error()
assert "understudy_mcptools" not in shell.user_ns
`

func TestANotebookHasWhatItsToolsGave(t *testing.T) {
	if err := exec.CommandContext(t.Context(), python(t), "-c", "import IPython").Run(); err != nil {
		t.Skip("needs IPython")
	}
	made, err := (&Document{Cells: newCells(withTools()), Interpreter: journal.Interpreter{Workdir: "/w"}}).Notebook()
	must(t, err)
	path := filepath.Join(t.TempDir(), "a.ipynb")
	must(t, os.WriteFile(path, made, 0o600))
	runs(t, runCells, path)
}

// runs runs Python that ends with what withTools says.
func runs(t *testing.T, code string, args ...string) {
	t.Helper()
	got := printedBy(t, code, args...)
	expect(t, strings.HasSuffix(got, saidOfTools), "printed %s\nwant %s", got, saidOfTools)
}

func printedBy(t *testing.T, code string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cells.py")
	must(t, os.WriteFile(path, []byte(code), 0o600))
	command := exec.CommandContext(t.Context(), python(t), append([]string{"-I", path}, args...)...)
	command.Dir = t.TempDir()
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	insist(t, err == nil, "%v\n%s\n%s", err, problems.String(), code)
	return string(output)
}

func TestReplayIsBounded(t *testing.T) {
	large := text(strings.Repeat("x", replayLimit/3))
	var uses []sessions.ToolUse
	for i := range 5 {
		uses = append(uses, use("time", fmt.Sprint("now", i), `{}`, large))
	}
	got := replay(newCells([]journal.Execution{cellOf(1, "x", uses...)}))
	expect(t, len(got) < replayLimit+10_000 && strings.Count(got, "too long for that") == 3, "%d bytes", len(got))
	skipped := cellOf(1, "from mcptools import time", uses...)
	skipped.Status = sessions.StatusCrashed
	expect(t, replay(newCells([]journal.Execution{skipped})) == "", "what is not run has a stand-in")
}

// TestAScriptOfAJournalHasWhatItsToolsGave goes the whole way, from the record to the run.
func TestAScriptOfAJournalHasWhatItsToolsGave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal.db")
	j, err := journal.Open(file, journal.Options{})
	must(t, err)
	defer func() { must(t, j.Close(t.Context())) }()
	at := sessions.StateRef{InterpreterID: "py1-0123", Execution: 1}
	_, err = j.Record(t.Context(), sessions.Entry{
		InterpreterID: at.InterpreterID, Execution: 1, Client: "c", Kind: sessions.RunsCode, Present: at, Python: new(string),
		Code: "from mcptools import time\nprint(time.now(zone='UTC'))", Result: &sessions.Result{Status: sessions.StatusOK},
		ToolUses: []sessions.ToolUse{use("time", "now", `{"zone":"UTC"}`, text("noon"))},
	})
	must(t, err)
	r, err := journal.OpenReader(file)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	d, err := Find(t.Context(), r, "")
	must(t, err)
	got := printedBy(t, string(d.Script()))
	expect(t, strings.HasSuffix(got, "noon\n") && strings.Contains(string(d.Script()), `# mcptools: time.now(zone="UTC") → 12 KB`), "%s\n%s", got, d.Script())
	x, err := Load(t.Context(), r, d.Run, "")
	must(t, err)
	report, err := Text(x)
	expect(t, err == nil && strings.Contains(report, "\n- Tools of other MCP servers: 1 call (time 1)\n") && strings.Contains(report, "\n# mcptools: time.now("), "%v\n%s", err, report)
}
