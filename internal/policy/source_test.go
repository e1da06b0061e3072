package policy

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/reload"
)

// sourceOf returns a Source of rules that don't change.
func sourceOf(t *testing.T, text string) *Source {
	t.Helper()
	book, err := Parse("policy.yaml", []byte(text), Additions{})
	must(t, err)
	return &Source{book: book}
}

// watched is a file of rules, and a clock that the test moves.
type watched struct {
	*Source
	path string
	time time.Time
	log  bytes.Buffer
}

func watch(t *testing.T, text string) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "policy.yaml"), time: time.Now()}
	w.write(t, text)
	var err error
	w.Source, err = open(w.path, Additions{}, slog.New(slog.NewTextHandler(&w.log, nil)), func() time.Time { return w.time })
	must(t, err)
	return w
}

// write replaces the file, whose time is then the clock's.
func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile(w.path, []byte(text), 0o600))
	must(t, os.Chtimes(w.path, w.time, w.time))
}

// blocks moves the clock and compares the blocked modules.
func (w *watched) blocks(t *testing.T, later time.Duration, want ...string) {
	t.Helper()
	w.time = w.time.Add(later)
	diff := cmp.Diff(want, w.Book().Rules("").BlockedModules)
	expect(t, diff == "", "blocked modules (-want +got):\n%s", diff)
}

func TestFileIsReadAgain(t *testing.T) {
	w := watch(t, "blocked_modules: [a1]")
	w.write(t, "blocked_modules: [a2]")
	w.blocks(t, reload.LookEvery/2, "a1")
	w.blocks(t, reload.LookEvery/2, "a2") // though neither size nor time have changed
	w.time = w.time.Add(time.Minute)
	w.blocks(t, reload.LookEvery, "a2")
	w.write(t, "blocked_modules: [a3]")
	w.blocks(t, reload.LookEvery, "a3")
	n := strings.Count(w.log.String(), "policy read again")
	expect(t, n == 2, "%d notes:\n%s", n, w.log.String())
}

// TestBrokenFileLeavesTheRules: a mistake, or no file, must not open the door.
func TestBrokenFileLeavesTheRules(t *testing.T) {
	w := watch(t, "blocked_modules: [a]")
	w.time = w.time.Add(time.Minute)
	w.write(t, "blocked_modules: [b]\nblocked_module: [c]")
	w.blocks(t, reload.LookEvery, "a")
	w.blocks(t, time.Minute, "a")
	w.blocks(t, reload.LookEvery, "a")
	must(t, os.Remove(w.path))
	w.blocks(t, time.Hour, "a")
	w.blocks(t, time.Hour, "a")
	n := strings.Count(w.log.String(), "level=ERROR")
	expect(t, n == 2 && strings.Contains(w.log.String(), "policy.yaml, line 2: blocked_module"), "%d errors:\n%s", n, w.log.String())
	w.write(t, "blocked_modules: [d]")
	w.blocks(t, reload.LookEvery, "d")
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for place, words := range map[string]string{filepath.Join(dir, "none"): "none", dir: "not a regular file"} {
		_, err := Open(place, Additions{}, nil)
		expect(t, err != nil && strings.Contains(err.Error(), words), "%s: %v", place, err)
	}
	more := Additions{AllowModules: []string{"numpy"}, BlockModules: []string{"requests"}, BlockFunctions: []string{"os.system", "os.system"}}
	s, err := Open("", more, nil)
	must(t, err)
	want := Rules{AllowedModules: more.AllowModules, BlockedModules: more.BlockModules, BlockedFunctions: []string{"os.system"}}
	diff := cmp.Diff(want, s.Book().Rules("anybody"))
	expect(t, diff == "", "%v", diff)
	if s, err = Open(DefaultsName, more, nil); err != nil {
		t.Fatal(err)
	}
	shipped, err := Parse("defaults.yaml", []byte(Defaults()), Additions{})
	must(t, err)
	got := s.Book().Rules("")
	n := len(shipped.Rules("").BlockedModules)
	expect(t, n != 0 && len(got.BlockedModules) == n+1, "%v", got.BlockedModules)
	if _, err := Open("", Additions{BlockFunctions: []string{"os system"}}, nil); err == nil || !strings.Contains(err.Error(), "--block-functions") {
		t.Error(err)
	}
}
