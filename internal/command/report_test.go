package command

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/report"
	"understudy/sessions"
)

// recordTrials records one execution and two trials of one client as a server does,
// with a saver, and returns the settings of a command that reads them.
func recordTrials(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	path, runDir := filepath.Join(dir, "journal.db"), filepath.Join(dir, "experiments")
	j, err := journal.Open(path, journal.Options{
		Run: journal.Run{Version: "1.0.0", Config: "trials: true\n", Steps: 3, RunDir: runDir},
	})
	must(t, err)
	reader, err := journal.OpenReader(path)
	must(t, err)
	saver := report.NewSaver(report.SaverOptions{Source: reader, RunDir: runDir, Log: slog.New(slog.DiscardHandler), Run: j.RunID()})
	j.Notify(saver.Changed)
	for i, trial := range []*sessions.Trial{nil, {Plan: "Begin.", MetricVarName: "score", Maximize: true}, {Plan: "Go on.", MetricVarName: "score", Maximize: true}} {
		value := float64(i)
		e := sessions.Entry{
			InterpreterID: "3fa9c0de11112222", Execution: i + 1, Client: sessions.Client("stdio"), Kind: sessions.RunsCode, Code: "score = " + string(rune('0'+i)),
			Started: time.Now(), Trial: trial, Result: &sessions.Result{Status: sessions.StatusOK, Success: true},
			Parent: sessions.StateRef{InterpreterID: "3fa9c0de11112222", Execution: i},
		}
		e.Follows, e.Present = e.Parent, sessions.StateRef{InterpreterID: e.InterpreterID, Execution: i + 1}
		if trial != nil {
			e.Metric = &sessions.Metric{Value: &value}
		}
		must(t, errOf(j.Record(t.Context(), e)))
	}
	for _, end := range []error{j.Close(t.Context()), saver.Close(t.Context()), reader.Close()} {
		if end != nil {
			t.Fatal(end)
		}
	}
	return &config.Config{Shared: config.Shared{DataDir: dir}}
}

// TestReportGoesWhereTheServerWrote, if no other place is named.
func TestReportGoesWhereTheServerWrote(t *testing.T) {
	c := recordTrials(t)
	saved, err := filepath.Glob(filepath.Join(c.DataDir, "experiments", "*", "report.md"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("the server wrote %v, %v", saved, err)
	}
	var out strings.Builder
	err = Report(t.Context(), c, &out)
	expect(t, err == nil && strings.Contains(out.String(), saved[0]) && strings.Contains(out.String(), "2 trials; the best is trial 2 with score = 2 (higher is better)"),
		"%v, %s", err, out.String())
}

func TestReportLeavesOthersFilesAlone(t *testing.T) {
	c := recordTrials(t)
	c.Report.Dir = t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(c.Report.Dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	mine := write("config.yaml", "mine")
	for _, journal := range []string{"", "{}", `{"nodes": []}`, "[1]"} {
		if journal != "" {
			write("journal.json", journal)
		}
		err := Report(t.Context(), c, &strings.Builder{})
		expect(t, err != nil && strings.Contains(err.Error(), "--out"), "with journal.json %q: %v", journal, err)
		if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
			t.Fatalf("the file is %q now, %v", text, err)
		}
	}
	write("journal.json", `{"run": {"id": "ABCDEFGH12"}, "nodes": [], "node2parent": {}}`)
	stale := []string{write("figures/trial-7-1.png", "x"), write("figures/3fa9c0de-2-1.svg", "x"), write("figures/my-run.2-3fa9c0de-2-1.png", "x")}
	others := []string{write("notes.txt", "x")}
	for _, name := range []string{"mine", "2024-05-01", "loss-2024-05-01", "my-trial-1-1"} {
		others = append(others, write("figures/"+name+".png", "x"))
	}
	must(t, Report(t.Context(), c, &strings.Builder{}))
	for _, path := range stale {
		_, err := os.Stat(path)
		expect(t, err != nil, "%s of another run is still there", path)
	}
	for _, path := range others {
		must(t, errOf(os.Stat(path)))
	}
	if err := Report(t.Context(), c, &strings.Builder{}); err != nil { // into its own again
		t.Error(err)
	}
}

func TestReportSaysWhatIsNotThere(t *testing.T) {
	c := &config.Config{Shared: config.Shared{DataDir: t.TempDir()}}
	err := Report(t.Context(), c, &strings.Builder{})
	expect(t, err != nil && strings.Contains(err.Error(), "--journal"), "without a journal: %v", err)
	j, err := journal.Open(filepath.Join(c.DataDir, "journal.db"), journal.Options{})
	must(t, err)
	must(t, j.Close(t.Context()))
	err = Report(t.Context(), c, &strings.Builder{})
	expect(t, err != nil && strings.Contains(err.Error(), "no executions yet"), "of an empty journal: %v", err)
	c.Report.Run = "ZZ"
	err = Report(t.Context(), c, &strings.Builder{})
	expect(t, err != nil && strings.Contains(err.Error(), `"ZZ"`), "of an unknown run: %v", err)
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestReportSaysThatItCannotSay(t *testing.T) {
	err := Report(t.Context(), recordTrials(t), full{})
	expect(t, err != nil, "what can't be written is no error")
}
