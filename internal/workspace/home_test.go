package workspace

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

var quiet = slog.New(slog.DiscardHandler)

func newTestHome(t *testing.T, root, name string) *Home {
	t.Helper()
	h, err := NewHome(root, name)
	must(t, err)
	return h
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// TestHome says when a workspace goes with its server.
func TestHome(t *testing.T) {
	for _, test := range []struct {
		name string
		use  bool   // an interpreter started
		ran  bool   // and code ran
		file string // somebody wrote it
		gone bool
	}{
		{name: "unused", gone: true},
		{name: "started, and nothing ran", use: true, gone: true},
		{name: "ran", use: true, ran: true},
		{name: "file in working", file: "working/x"},
		{name: "uploaded file", file: "x.csv"},
		{name: "file in input", file: "input/notes.txt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "workspaces")
			h := newTestHome(t, root, "abc")
			mustPrepare(t, mustPlan(t, Options{Dir: h.Dir}, files(t, map[string]string{"x": "1"})))
			if test.use {
				for range 2 {
					must(t, h.Use())
				}
			}
			if test.file != "" {
				name := filepath.Join(h.Dir, test.file)
				err := os.WriteFile(name, nil, 0o600)
				later := time.Now().Add(time.Second) // clocks of file systems tick slowly
				if err = errors.Join(err, os.Chtimes(filepath.Dir(name), later, later)); err != nil {
					t.Fatal(err)
				}
			}
			gone, err := h.Close(test.ran)
			expect(t, err == nil && gone == test.gone, "gone: %v, %v", gone, err)
			want := []string{"abc"}
			if test.gone {
				want = []string{}
			}
			got := names(t, root)
			expect(t, slices.Equal(got, want), "left: %v", got)
		})
	}
}

// TestSweep removes what killed servers have left unused, and nothing else.
func TestSweep(t *testing.T) {
	root := t.TempDir()
	alive := newTestHome(t, root, "alive")
	used := newTestHome(t, root, "used")
	must(t, used.Use())
	for _, name := range []string{"dead", "written"} { // as if their servers were killed: unlocked
		must(t, os.MkdirAll(filepath.Join(root, name, WorkingName), 0o700))
		must(t, os.WriteFile(filepath.Join(root, name)+unusedEnding, []byte(unusedText(name)), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(root, "foreign")+unusedEnding, []byte("a list"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "written", WorkingName, "x"), nil, 0o600))
	must(t, os.MkdirAll(filepath.Join(root, "foreign", WorkingName), 0o700))
	next := newTestHome(t, root, "next")
	Sweep(t.Context(), root, quiet)
	want := []string{"alive", "alive.unused", "foreign", "foreign.unused", "next", "next.unused", "used", "written"}
	got := names(t, root)
	expect(t, slices.Equal(got, want), "left %v, want %v", got, want)
	for _, h := range []*Home{alive, next} {
		gone, err := h.Close(false)
		expect(t, gone && err == nil, "%s: %v", h.Dir, err)
	}
}

// TestSweepEndsARemoval: what a server had no time to remove goes at the next one's start,
// whatever of it is left.
func TestSweepEndsARemoval(t *testing.T) {
	root := t.TempDir()
	h := newTestHome(t, root, "abc")
	mustPrepare(t, mustPlan(t, Options{Dir: h.Dir}, files(t, map[string]string{"x": "1", "y": "2"})))
	hideInput(h.Dir)
	if err := errors.Join(os.Remove(filepath.Join(h.Dir, stampName)), h.unused.Close()); err != nil {
		t.Fatal(err)
	}
	Sweep(t.Context(), root, quiet)
	if got := names(t, root); len(got) > 0 {
		t.Errorf("left %v", got)
	}
}

// TestTakenName finds another name.
func TestTakenName(t *testing.T) {
	root := t.TempDir()
	first := newTestHome(t, root, "abc")
	second := newTestHome(t, root, "abc")
	insist(t, first.Dir != second.Dir, "two servers have one workspace")
	for _, h := range []*Home{first, second} {
		_, err := h.Close(false)
		expect(t, err == nil, "%v", err)
	}
}

// TestSweepMeetsStart is another server that takes the lock of one that is just
// starting for one that was left.
func TestSweepMeetsStart(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "abc")
	lock := flock.New(dir + unusedEnding)
	ok, err := lock.TryLock()
	insist(t, ok && err == nil, "%v", err)
	defer lock.Close()
	h := newTestHome(t, root, "abc")
	expect(t, h.Dir != dir, "it took a directory that another server is about to remove")
	if _, err := h.Close(false); err != nil {
		t.Error(err)
	}
}
