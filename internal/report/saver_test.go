package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"understudy/internal/journal"
)

// gated is a source that lets reads of executions through one by one.
type gated struct {
	source
	reading chan struct{} // has one for each read that has begun
	gate    chan struct{}
	since   []int64
	mu      sync.Mutex
}

func (g *gated) Executions(ctx context.Context, q journal.Query) ([]journal.Execution, error) {
	g.mu.Lock()
	g.since = append(g.since, q.Since)
	g.mu.Unlock()
	g.reading <- struct{}{}
	select {
	case <-g.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return g.source.Executions(ctx, q)
}

func TestTheSaverWritesOnceWhatChangesMeanwhile(t *testing.T) {
	s := newSample(t)
	g := &gated{source: source{s}, reading: make(chan struct{}, 10), gate: make(chan struct{})}
	dir := t.TempDir()
	saver := NewSaver(SaverOptions{Source: g, Run: s.Run.ID, RunDir: dir, Log: slog.New(slog.DiscardHandler)})
	saver.Changed("E")
	<-g.reading
	for range 1000 {
		saver.Changed("E") // none of them waits
	}
	g.gate <- struct{}{}
	<-g.reading
	close(g.gate)
	if err := saver.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := s.executions[len(s.executions)-1].Revision; len(g.since) > 3 || g.since[0] != 0 || g.since[1] != last {
		t.Errorf("it read from %v on", g.since)
	}
	own := filepath.Join(dir, "20260504-100000-E")
	for _, name := range []string{"journal.json", "tree_plot.html", "config.yaml", "best_solution.py", "report.md", "figures/trial-3-1.png"} {
		if _, err := os.Stat(filepath.Join(own, name)); err != nil {
			t.Error(err)
		}
	}
	if err := saver.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheSaverTakesOverWhatHasChanged(t *testing.T) {
	s := newSample(t)
	whole := s.executions
	s.executions = whole[:3]
	dir := t.TempDir()
	saver := &Saver{options: SaverOptions{Source: source{s}, Run: s.Run.ID, RunDir: dir, Log: slog.New(slog.DiscardHandler)}, ctx: t.Context(), saved: map[string]*savedExperiment{}, failed: map[string]bool{}}
	saver.save("E", false)
	s.executions = whole
	s.executions[1].Revision, s.executions[1].Trial.Plan = 100, "Another plan."
	saver.save("E", false)
	text, err := os.ReadFile(filepath.Join(s.Run.FilesOf(dir, "E"), "journal.json"))
	if err != nil {
		t.Fatal(err)
	}
	var saved Saved
	if err := json.Unmarshal(text, &saved); err != nil || len(saved.Nodes) != 6 || saved.Nodes[0].Plan != "Another plan." || saved.Nodes[5].Step != 6 {
		t.Errorf("%v: %s", err, text)
	}
}

// crowd is a source of many experiments that are alike.
type crowd struct{ source }

func (c crowd) Experiments(context.Context, string) (names []string, err error) {
	for i := range remembered + 3 {
		names = append(names, fmt.Sprint("E", i))
	}
	return names, nil
}

func TestTheSaverForgetsWhoIsQuiet(t *testing.T) {
	s := newSample(t)
	dir := t.TempDir()
	saver := NewSaver(SaverOptions{Source: crowd{source{s}}, Run: s.Run.ID, RunDir: dir, Log: slog.New(slog.DiscardHandler)})
	names, _ := crowd{}.Experiments(t.Context(), "")
	for _, name := range names {
		saver.Changed(name)
	}
	if err := saver.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	saver.forget()
	inMemory := 0
	for _, known := range saver.saved {
		inMemory += min(1, len(known.x.Executions))
	}
	if inMemory != remembered || len(saver.saved) != len(names) {
		t.Errorf("%d of %d experiments are in memory", inMemory, len(saver.saved))
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(s.Run.FilesOf(dir, name), "report.md")); err != nil {
			t.Error(err)
		}
	}
}

func TestTheSaverSaysOnceWhatGoesWrong(t *testing.T) {
	s := newSample(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	saver := &Saver{options: SaverOptions{Source: source{s}, Run: s.Run.ID, RunDir: file, Log: slog.New(slog.NewTextHandler(&log, nil))}, ctx: t.Context(), saved: map[string]*savedExperiment{}, failed: map[string]bool{}}
	for range 3 {
		saver.save("E", false)
		saver.save("unknown", false)
	}
	if strings.Count(log.String(), "\n") != 2 || !strings.Contains(log.String(), "making the experiment's directory") {
		t.Error(log.String())
	}
}

func TestTheSaverThatIsHeldUpGivesUp(t *testing.T) {
	s := newSample(t)
	g := &gated{source: source{s}, reading: make(chan struct{}, 10), gate: make(chan struct{})}
	saver := NewSaver(SaverOptions{Source: g, Run: s.Run.ID, RunDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	saver.Changed("E")
	<-g.reading
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := saver.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(g.gate)
	if err := saver.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// BenchmarkWrite writes the files of an experiment of a thousand trials.
func BenchmarkWrite(b *testing.B) {
	x := large(1000).load(b)
	dir := b.TempDir()
	for b.Loop() {
		if _, err := Write(dir, x, false); err != nil {
			b.Fatal(err)
		}
	}
}
