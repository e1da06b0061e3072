package report

import (
	"encoding/json"
	"testing"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

func TestCellsSayWhatCanBeRunAgain(t *testing.T) {
	type test struct {
		execution journal.Execution
		want      Cell
	}
	refused := func(class string, skipped bool) test {
		detail := &journal.Detail{Refused: true, Record: sessions.Result{ExcType: class}}
		t := test{
			journal.Execution{Kind: sessions.RunsCode, Code: "pip install x", Status: sessions.StatusError, Detail: detail},
			Cell{Code: "pip install x", Failed: true, Refused: true, Skipped: skipped},
		}
		if skipped {
			t.want.Note = "Nothing of it ran (" + class + ")."
		}
		return t
	}
	for name, test := range map[string]test{
		"code":          {journal.Execution{Kind: sessions.RunsCode, Code: "x = 1", Status: sessions.StatusOK}, Cell{Code: "x = 1"}},
		"error":         {journal.Execution{Kind: sessions.RunsCode, Code: "1/0", Status: sessions.StatusError}, Cell{Code: "1/0", Failed: true}},
		"crash":         {journal.Execution{Kind: sessions.RunsCode, Code: "die()", Status: sessions.StatusCrashed}, Cell{Code: "die()", Failed: true, Skipped: true, Note: "It crashed its process, and left nothing behind."}},
		"limit":         {journal.Execution{Kind: sessions.RunsCode, Code: "f()", Status: sessions.StatusTimeout, ExecTime: 1500 * time.Millisecond}, Cell{Code: "f()", Failed: true, Note: "It was ended at its time limit after 1.5 s, and was seen to change no variables, though maybe what is within them, or files."}},
		"limit, killed": {journal.Execution{Kind: sessions.RunsCode, Code: "f()", Status: sessions.StatusTimeout, ExecTime: time.Second, Detail: &journal.Detail{Record: sessions.Result{RestartReason: "killed"}}}, Cell{Code: "f()", Failed: true, Skipped: true, Note: "It was ended at its time limit after 1.0 s, and its process with it."}},
		"limit, later":  {journal.Execution{Kind: sessions.RunsCode, Code: "f()", Status: sessions.StatusTimeout, ExecTime: time.Minute, Changed: true}, Cell{Code: "f()", Failed: true, Note: "It was ended at its time limit after 1 min 00 s, and had changed variables, which may differ in another run."}},
		"refused":       refused("SyntaxError", false),
		"no magic":      refused("UsageError", true),
		"refused, earlier": {
			journal.Execution{Kind: sessions.RunsCode, Code: "pip x", Status: sessions.StatusError, Detail: &journal.Detail{Record: sessions.Result{ExcType: "SyntaxError", Traceback: "SyntaxError: no\n", ExcStack: make([]sessions.StackFrame, 1)}}},
			Cell{Code: "pip x", Failed: true, Refused: true},
		},
		"failed, earlier": {
			journal.Execution{Kind: sessions.RunsCode, Code: "1/0", Status: sessions.StatusError, Detail: &journal.Detail{Record: sessions.Result{ExcType: "SyntaxError", Traceback: "Traceback (most recent call last):\nSyntaxError: no\n"}}},
			Cell{Code: "1/0", Failed: true},
		},
		"command":       {journal.Execution{Kind: sessions.RunsCommand, Code: "ls -l", Status: sessions.StatusOK}, Cell{Code: "!ls -l"}},
		"more commands": {journal.Execution{Kind: sessions.RunsCommand, Code: "ls\npwd", Status: sessions.StatusOK}, Cell{Code: "%%bash\nls\npwd"}},
		"plugin": {
			journal.Execution{Kind: sessions.RunsPlugin, Code: "find", Status: sessions.StatusOK, Arguments: json.RawMessage(`{"text": "a\"\u2028\n", "n": 12345678901234567890, "all": true, "of": [null, {"k": 1.5}], "none": {}}`)},
			Cell{Code: `find(all=True, n=12345678901234567890, none={}, of=[None, {"k": 1.5}], text="a\"\u2028\n")`, Note: "It calls the plugin find, which must be there."},
		},
		"plugin without": {journal.Execution{Kind: sessions.RunsPlugin, Code: "find", Status: sessions.StatusOK}, Cell{Code: "find()", Note: "It calls the plugin find, which must be there."}},
	} {
		t.Run(name, func(t *testing.T) {
			got := newCells([]journal.Execution{test.execution})[0]
			if got.Code != test.want.Code || got.Failed != test.want.Failed || got.Skipped != test.want.Skipped || got.Refused != test.want.Refused || got.Note != test.want.Note {
				t.Errorf("got %q failed %v skipped %v note %q", got.Code, got.Failed, got.Skipped, got.Note)
			}
		})
	}
}
