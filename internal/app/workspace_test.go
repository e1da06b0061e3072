package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"understudy/internal/config"
	"understudy/internal/workspace"
	"understudy/sessions"
)

// dataConfig is the configuration of a server with one file of data.
func dataConfig(t *testing.T, named bool) *config.Config {
	t.Helper()
	source := filepath.Join(t.TempDir(), "x.csv")
	must(t, os.WriteFile(source, []byte("a,b\n1,2\n"), 0o600))
	c := &config.Config{}
	c.DataDir, c.Serve.Data, c.Serve.DataMode = t.TempDir(), []string{source}, config.DataCopy
	if named {
		c.Serve.Workspace = filepath.Join(t.TempDir(), "deep", "w")
	}
	return c
}

func mustOpenWorkspace(t *testing.T, c *config.Config, log *slog.Logger) *workspaceService {
	t.Helper()
	p, err := openWorkspace(c, "run1", log)
	must(t, err)
	return p
}

// held keeps a preparation waiting, as another server would that prepares the
// same workspace.
func held(t *testing.T, dir string) (release func()) {
	t.Helper()
	own := filepath.Join(dir, ".understudy")
	must(t, os.MkdirAll(own, 0o700))
	lock := flock.New(filepath.Join(own, "lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(err)
	}
	return func() { _ = lock.Close() }
}

func TestStartsWaitForTheWorkspace(t *testing.T) {
	p := mustOpenWorkspace(t, dataConfig(t, true), slog.New(slog.DiscardHandler))
	release := held(t, p.plan.Dir())
	info, err := os.Stat(p.plan.Dir())
	expect(t, err == nil && info.IsDir(), "the working directory is not there at once: %v", err)
	p.begin()

	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	starter := &pythons{workspace: p}
	_, err = starter.Start(impatient, sessions.Spec{})
	expect(t, errors.Is(err, context.Canceled), "%+v", err)
	text := starter.Waiting()
	expect(t, text == "the workspace is being prepared (looking through the data)", "waiting for %q", text)
	release()
	must(t, p.use(t.Context()))
	text = starter.Waiting()
	expect(t, text == "", "waiting for %q", text)
	must(t, errOf(os.Stat(filepath.Join(p.plan.Input(), "x.csv"))))
	p.work.stop()
	must(t, p.close())
}

// TestStoppedPreparation leaves nobody waiting, and nothing on the disk.
func TestStoppedPreparation(t *testing.T) {
	c := dataConfig(t, false)
	var log bytes.Buffer
	p := mustOpenWorkspace(t, c, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	release := held(t, p.plan.Dir())
	defer release()
	p.begin()
	p.work.stop()
	err := p.use(t.Context())
	expect(t, err != nil, "an interpreter started in a workspace that is not prepared")
	must(t, p.close())
	wantEmpty(t, filepath.Join(c.DataDir, "workspaces"))
	expect(t, log.Len() == 0, "who asked for it is told of an error: %s", &log)
}

// TestBrokenDataLeavesNoWorkspace refuses before a server begins.
func TestBrokenDataLeavesNoWorkspace(t *testing.T) {
	c := dataConfig(t, false)
	c.Serve.Data = append(c.Serve.Data, filepath.Join(t.TempDir(), "missing"))
	_, err := openWorkspace(c, "run1", slog.New(slog.DiscardHandler))
	expect(t, err != nil && strings.Contains(err.Error(), "does not exist"), "%+v", err)
	wantEmpty(t, filepath.Join(c.DataDir, "workspaces"))
}

func TestSoFar(t *testing.T) {
	for want, now := range map[string]workspace.Progress{
		"looking through the data": {},
		"3.1 GB of 12 GB":          {Done: 3.1e9, Total: 12e9},
	} {
		got := soFar(now)
		expect(t, got == want, "%+v: %q, want %q", now, got, want)
	}
}

// TestPreview: as long as the workspace is prepared the text says so; then it is what
// Python says, and is kept while nothing changes.
func TestPreview(t *testing.T) {
	var waiting, answer string
	var broken, failed error
	var asked []string
	clock := time.Now()
	p := &previewer{
		input: "/w/input", sources: []string{"/data"}, turn: make(chan struct{}, 1), now: func() time.Time { return clock },
		waiting: func() (string, error) { return waiting, broken },
		run: func(_ context.Context, code string) (json.RawMessage, error) {
			asked = append(asked, code)
			return json.RawMessage(answer), failed
		},
	}
	for i, step := range []struct {
		waiting        string
		broken, failed error
		answer         string
		later          time.Duration
		want, asks     string // asks: of the code, "" for none
	}{
		{waiting: "preparing the workspace: 3.1 of 12 GB", want: "no preview yet: preparing the workspace: 3.1 of 12 GB."},
		{broken: errors.New("it is no zip file"), want: "There is no preview: it is no zip file."},
		{answer: `{"error":"input: gone"}`, want: "There is no preview: input: gone.", asks: `"known":""`},
		{failed: errors.New("no Python"), want: "error: no Python", asks: "describe("},
		{answer: `{"print":"1","text":"one","hasted":true}`, want: "one", asks: `"roots":["/data"]`},
		{answer: "none", later: 9 * time.Second, want: "one"},
		{answer: `{"print":"2","text":"two"}`, later: time.Second, want: "two", asks: `"known":""`},
		{answer: `{"print":"2"}`, later: 10 * time.Second, want: "two", asks: `"known":"2"`},
		{answer: "none", later: time.Second, want: "two"},
	} {
		waiting, broken, failed, answer, asked = step.waiting, step.broken, step.failed, step.answer, nil
		clock = clock.Add(step.later)
		text, err := p.Text(t.Context())
		if err != nil {
			text = "error: " + err.Error()
		}
		code := strings.Join(asked, "")
		expect(t, strings.Contains(text, step.want) && strings.Contains(code, step.asks) && (code == "") == (step.asks == ""), "%d: %q, after %q", i, text, asked)
	}
}
