package app

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// TestTheFilesOfAServerThatDiedAreRemoved has one that left sessions' directories in
// each other, and one that lives.
func TestTheFilesOfAServerThatDiedAreRemoved(t *testing.T) {
	data, log := t.TempDir(), slog.New(slog.DiscardHandler)
	died, err := newRunDir(data, log)
	if err != nil {
		t.Fatal(err)
	}
	lives, err := newRunDir(data, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := died.lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(died.path)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		inner := root
		if err := root.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		if root, err = root.OpenRoot("d"); err != nil {
			t.Fatal(err)
		}
		_ = inner.Close()
	}
	_ = root.Close()
	removeLeftovers(filepath.Join(data, "run"), log)
	if _, err := os.Lstat(died.path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := lives.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(data, "run")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}
