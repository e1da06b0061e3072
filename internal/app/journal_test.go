package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/sessions"
)

func parsed(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(config.Source{Args: append([]string{"serve", "--data-dir", t.TempDir()}, args...), Lookup: func(string) (string, bool) { return "", false }})
	must(t, err)
	return c
}

// A journal that can't be opened stops a server only if it was asked for.
func TestJournalThatCantBeOpened(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("no journal ", 100)), 0o600))
	for _, test := range []struct {
		what  string
		args  []string
		fails bool
		warns bool
	}{
		{"by default", nil, false, true},
		{"named", []string{"--journal", text}, true, false},
		{"trials", []string{"--trials"}, true, false},
		{"none is wanted", []string{"--no-journal"}, false, false},
	} {
		c := parsed(t, test.args...)
		if c.Journal == "" {
			must(t, os.Rename(text, c.JournalPath()))
		}
		var log bytes.Buffer
		j, err := openJournal(c, "", slog.New(slog.NewTextHandler(&log, nil)))
		expect(t, j == nil && (err != nil) == test.fails && strings.Contains(log.String(), "nothing is recorded") == test.warns,
			"%s: %v, %v, log %q", test.what, j, err, log.String())
		if c.Journal == "" {
			must(t, os.Rename(c.JournalPath(), text))
		}
	}
}

// The run describes its server, and knows no secret of it.
func TestRunInTheJournal(t *testing.T) {
	c := parsed(t, "--trials", "--steps", "7", "--session-variables", "KEY=sk-12345")
	j, err := openJournal(c, "", slog.New(slog.DiscardHandler))
	must(t, err)
	beats := make(chan struct{}, 100)
	j.beat(func() []sessions.Heartbeat {
		beats <- struct{}{}
		return []sessions.Heartbeat{{InterpreterID: "a", Execution: 1}}
	})
	<-beats
	must(t, j.close(t.Context()))
	r, err := journal.OpenReader(c.JournalPath())
	must(t, err)
	defer r.Close()
	run, err := r.Run(t.Context(), "")
	expect(t, err == nil && run.Steps == 7 && run.RunDir == filepath.Join(c.DataDir, "experiments") && run.PID == os.Getpid() &&
		strings.Contains(run.Config, "steps: 7") && !strings.Contains(run.Config, "sk-12345"),
		"%+v, %v", run, err)
}
