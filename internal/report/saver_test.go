package report

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/journal"
)

// gated is a source that lets reads of executions through one by one.
type gated struct {
	source
	reading chan struct{} // has one for each read that has begun
	gate    chan struct{}
	reads   int
}

func (g *gated) Executions(ctx context.Context, q journal.Query) ([]journal.Execution, error) {
	g.reads++
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
	must(t, saver.Close(t.Context()))
	expect(t, g.reads <= 3, "it read %d times", g.reads)
	own := filepath.Join(dir, "20260504-100000-E")
	for _, name := range []string{"journal.json", "tree_plot.html", "config.yaml", "best_solution.py", "report.md", "figures/trial-3-1.png"} {
		_, err := os.Stat(filepath.Join(own, name))
		expect(t, err == nil, "%v", err)
	}
	err := saver.Close(t.Context())
	expect(t, err == nil, "%v", err)
}

func TestTheSaverTakesOverWhatHasChanged(t *testing.T) {
	s := newSample(t)
	whole := s.executions
	s.executions = whole[:3]
	dir := t.TempDir()
	saver := newSaver(source{s}, s.Run.ID, dir, slog.New(slog.DiscardHandler))
	saver.save([]string{"E"})
	s.executions = whole
	s.executions[1].Revision, s.executions[1].Trial.Plan = 100, "Another plan."
	saver.save([]string{"E"})
	text, err := os.ReadFile(filepath.Join(s.Run.FilesOf(dir, "E"), "journal.json"))
	must(t, err)
	var saved Saved
	if err := json.Unmarshal(text, &saved); err != nil || len(saved.Nodes) != 6 || saved.Nodes[0].Plan != "Another plan." || saved.Nodes[5].Step != 6 {
		t.Errorf("%v: %s", err, text)
	}
}

// newSaver is one without a goroutine.
func newSaver(from Source, run, dir string, log *slog.Logger) *Saver {
	return &Saver{
		options: SaverOptions{Source: from, Run: run, RunDir: dir, Log: log},
		ctx:     context.Background(), failed: map[string]bool{},
	}
}

func TestTheSaverWritesAllOnceMoreInTheEnd(t *testing.T) {
	s := newSample(t)
	ended := s.Run.Ended
	s.Run.Ended = time.Time{}
	dir := t.TempDir()
	g := &gated{source: source{s}, reading: make(chan struct{}, 20), gate: make(chan struct{}, 20)}
	saver := NewSaver(SaverOptions{Source: g, Run: s.Run.ID, RunDir: dir, Log: slog.New(slog.DiscardHandler)})
	saver.Changed("E")
	g.gate <- struct{}{}
	<-g.reading
	saver.Changed("F")
	g.gate <- struct{}{}
	<-g.reading // E has been written by now
	s.Run.Ended = ended
	close(g.gate)
	must(t, saver.Close(t.Context()))
	for _, name := range []string{"E", "F"} {
		text, err := os.ReadFile(filepath.Join(s.Run.FilesOf(dir, name), "journal.json"))
		if err != nil || !strings.Contains(string(text), `"ended": "2026-05-04T10:30:00Z"`) {
			t.Errorf("%s does not say when the run ended, %v: %.300s", name, err, text)
		}
	}
}

func TestTheSaverSaysOnceWhatGoesWrong(t *testing.T) {
	s := newSample(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	var log strings.Builder
	saver := newSaver(source{s}, s.Run.ID, file, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		saver.save([]string{"E", "unknown"})
	}
	expect(t, strings.Count(log.String(), "\n") == 2 && strings.Contains(log.String(), "making the experiment's directory"), "%v", log.String())
}

func TestTheSaverThatIsHeldUpGivesUp(t *testing.T) {
	s := newSample(t)
	g := &gated{source: source{s}, reading: make(chan struct{}, 10), gate: make(chan struct{})}
	saver := NewSaver(SaverOptions{Source: g, Run: s.Run.ID, RunDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	saver.Changed("E")
	<-g.reading
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := saver.Close(ctx)
	expect(t, errors.Is(err, context.Canceled), "got %v", err)
	close(g.gate)
	must(t, saver.Close(t.Context()))
}

// BenchmarkWrite writes the files of an experiment of a thousand trials.
func BenchmarkWrite(b *testing.B) {
	x := large(1000).load(b)
	dir := b.TempDir()
	for b.Loop() {
		_, err := Write(dir, x)
		insist(b, err == nil, "%v", err)
	}
}
