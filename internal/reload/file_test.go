package reload

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFile: a number in a file is read again, and what is no number leaves it as it was.
func TestFile(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "n"), time.Now()
	var log bytes.Buffer
	var heard []int
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
	o := Options[int]{
		Parse:    func(text []byte) (int, error) { return strconv.Atoi(string(text)) },
		MaxBytes: 5, Changed: func(n int) { heard = append(heard, n) },
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now },
	}
	write("1")
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text   string
		later  time.Duration
		want   int
		errors int // logged so far
	}{
		{"2", LookEvery / 2, 1, 0},
		{"2", LookEvery, 2, 0}, // though neither size nor time need have changed
		{"x", time.Minute, 2, 1},
		{"x", time.Minute, 2, 1},
		{"123456", time.Minute, 2, 2},
		{"2", time.Minute, 2, 2}, // the same as before it was broken
		{"3", time.Minute, 3, 2},
	} {
		write(step.text)
		now = now.Add(step.later)
		if got := f.Get(); got != step.want || strings.Count(log.String(), "level=ERROR") != step.errors {
			t.Errorf("%+v: %d\n%s", step, got, log.String())
		}
	}
	if !slices.Equal(heard, []int{2, 2, 3}) {
		t.Errorf("heard of %v", heard)
	}
	if _, err := Open(t.TempDir(), o); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}
