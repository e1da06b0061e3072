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
	must(t, err)
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
		must(t, errOf(j.Record(t.Context(), entry)))
		standing := sessions.SessionState{InterpreterID: at.InterpreterID, Created: time.Unix(1, 0), Present: at}
		must(t, j.SaveSession(t.Context(), standing))
		before = at
	}
	must(t, j.Close(context.Background()))
	return path
}

// TestExport: what is chosen and how it is written is tested with internal/report.
func TestExport(t *testing.T) {
	c := &config.Config{Export: config.Export{What: "3fa9@1", Format: "html"}}
	c.Journal = writeJournal(t)
	var out, nothing bytes.Buffer
	err := Export(t.Context(), c, &out)
	expect(t, err == nil && strings.Contains(out.String(), "<html") && strings.Contains(out.String(), "x = ") && !strings.Contains(out.String(), "answer is 42"),
		"%v: %s", err, &out)
	c.Export.File = filepath.Join(t.TempDir(), "file")
	must(t, Export(t.Context(), c, &nothing))
	written, err := os.ReadFile(c.Export.File)
	expect(t, err == nil && bytes.Equal(written, out.Bytes()) && nothing.Len() == 0, "%v: %d bytes instead of %d, %q", err, len(written), out.Len(), nothing.String())
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
		err := Export(t.Context(), c, &out)
		expect(t, err != nil && strings.Contains(err.Error(), test.want) && out.Len() == 0, "%s: %v, %q", name, err, out.String())
	}
}
