package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/sessions"
)

// writeJournal records what one interpreter ran, and returns the journal's path.
func writeJournal(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j, err := journal.Open(path, journal.Options{Run: journal.Run{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	var before sessions.StateRef
	for i, code := range []string{"x = 41", "x + 1"} {
		at := sessions.StateRef{InterpreterID: "3fa9000000000000", Execution: i + 1}
		result := &sessions.Result{InterpreterID: at.InterpreterID, Execution: at.Execution, Status: sessions.StatusOK, Success: true}
		entry := sessions.Entry{
			InterpreterID: at.InterpreterID, Execution: at.Execution, Kind: sessions.RunsCode, Code: code,
			Started: time.Unix(1, 0), Parent: before, Follows: before, Present: at, Result: result,
			Trial: &sessions.Trial{Plan: "the answer", MetricVarName: "x"}, Metric: &sessions.Metric{Value: new(float64)},
		}
		*entry.Metric.Value = float64(i)
		if i == 1 {
			const printed = "the answer is 42\n" // the digits alone may be in an id, or in a time of day
			result.Stdout, result.TermOut = printed, []string{printed}
			entry.Printed[sessions.Stdout] = sessions.Printed{Text: []byte(printed), Size: int64(len(printed))}
		}
		if _, err := j.Record(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		standing := sessions.SessionState{InterpreterID: at.InterpreterID, Created: time.Unix(1, 0), Present: at}
		if err := j.SaveSession(t.Context(), standing); err != nil {
			t.Fatal(err)
		}
		before = at
	}
	if err := j.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExport(t *testing.T) {
	path := writeJournal(t)
	for name, test := range map[string]struct {
		flags         config.Export
		with, without string
	}{
		"the last one": {config.Export{Format: "ipynb"}, `"text": "the answer is 42\n"`, "<html"},
		"a page":       {config.Export{What: "3fa9", Format: "html"}, "the answer is 42\n</pre>", "cell_type"},
		"a script":     {config.Export{What: "3f@2", Format: "py"}, "\nx + 1\n", "answer is"},
		"up to":        {config.Export{What: "3fa9@1", Format: "py"}, "\nx = 41\n", "x + 1"},
		"the best":     {config.Export{What: "best", Format: "py"}, "The way to trial 1, the best one", "x + 1"}, // less is better
	} {
		t.Run(name, func(t *testing.T) {
			c := &config.Config{Export: test.flags}
			c.Journal = path
			var out bytes.Buffer
			if err := Export(t.Context(), c, &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), test.with) || strings.Contains(out.String(), test.without) {
				t.Errorf("%s", out.String())
			}
			c.Export.File = filepath.Join(t.TempDir(), "file")
			var nothing bytes.Buffer
			if err := Export(t.Context(), c, &nothing); err != nil {
				t.Fatal(err)
			}
			written, err := os.ReadFile(c.Export.File)
			if err != nil || !bytes.Equal(written, out.Bytes()) || nothing.Len() > 0 {
				t.Errorf("%v: %d bytes instead of %d, %q", err, len(written), out.Len(), nothing.String())
			}
		})
	}
}

func TestExportSaysWhatIsWrong(t *testing.T) {
	path := writeJournal(t)
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for name, test := range map[string]struct {
		journal string
		flags   config.Export
		want    string
	}{
		"no journal":     {nowhere, config.Export{}, "--journal"},
		"no interpreter": {path, config.Export{What: "ffff"}, `"ffff"`},
		"no execution":   {path, config.Export{What: "3fa9@7"}, "the last one is 2"},
		"no directory":   {path, config.Export{File: filepath.Join(nowhere, "a.ipynb")}, "--out"},
	} {
		c := &config.Config{Export: test.flags}
		c.Journal = test.journal
		var out bytes.Buffer
		if err := Export(t.Context(), c, &out); err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}
