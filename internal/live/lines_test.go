package live

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// TestLines tells of an experiment from its first to its last line.
func TestLines(t *testing.T) {
	var out strings.Builder
	f := newFollower(Options{Path: "/j.db"}, &out)
	lines := []picture{{at: noon, problem: errNothing}, {at: noon, problem: errNothing}, aPicture()}
	again := aPicture() // the one that ran has ended
	again.at = noon.Add(time.Minute)
	ended := trial(execution(9, 5, first, 7, "for epoch in range(30):\n\ttrain()", sessions.StatusOK), 8, 5, sessions.StageImprove, "A small network", 0.95)
	again.executions[7] = ended
	last := aPicture()
	last.run.Alive, last.run.Ended, last.executions = false, noon.Add(2*time.Minute), nil
	lines = append(lines, again, last)
	for i, u := range lines {
		done, err := f.take(u)
		insist(t, err == nil && done == (i == len(lines)-1), "after look %d: %v, %v", i, done, err)
	}
	golden(t, "lines", strings.TrimSuffix(out.String(), "\n"))
}

// TestFollow ends by itself with the run, and with an error where there is none.
func TestFollow(t *testing.T) {
	past := &fakeSource{runs: []journal.Run{pastRun()}}
	open := func() (Source, error) { return past, nil }
	if err := Follow(t.Context(), Options{Open: open}, io.Discard); err != nil || !past.closed {
		t.Errorf("a run that has ended: %v", err)
	}
	if err := Follow(t.Context(), Options{Open: open, Run: "none"}, io.Discard); err == nil {
		t.Error("a run that is not there is followed")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	alive := &fakeSource{runs: []journal.Run{aRun()}}
	err := Follow(ctx, Options{Open: func() (Source, error) { return alive, nil }}, io.Discard)
	expect(t, errors.Is(err, context.Canceled) && alive.closed, "interrupted: %v", err)
}

func TestSnapshotWithoutARun(t *testing.T) {
	err := Snapshot(t.Context(), Options{Path: "/j.db", Open: func() (Source, error) { return &fakeSource{}, nil }}, io.Discard)
	expect(t, err != nil && strings.Contains(err.Error(), "--journal") && strings.Contains(err.Error(), "/j.db"), "%v", err)
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestLinesEnd holds that lines end with an error where they can't be written, and
// where the journal is gone.
func TestLinesEnd(t *testing.T) {
	f := newFollower(Options{}, full{})
	if _, err := f.take(aPicture()); err == nil {
		t.Error("lines that can't be written are no error")
	}
	f = newFollower(Options{}, io.Discard)
	if _, err := f.take(aPicture()); err != nil {
		t.Fatal(err)
	}
	var err error
	gone := errors.New("the disk is gone")
	for range patience + 1 {
		_, err = f.take(picture{at: noon, problem: gone})
	}
	expect(t, errors.Is(err, gone), "a journal that is gone: %v", err)
}
