package app

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofrs/flock"
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

// TestServersThatStartAtOnce make directories while others look for leftovers: each
// has its own, with a lock that is there and held.
func TestServersThatStartAtOnce(t *testing.T) {
	data, log := t.TempDir(), slog.New(slog.DiscardHandler)
	kept := filepath.Join(data, keptName)
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	lives := func(lock *flock.Flock) bool {
		_, err := os.Lstat(lock.Path())
		free, _ := flock.New(lock.Path()).TryLock()
		return err == nil && !free
	}
	var servers sync.WaitGroup
	for range 8 {
		servers.Go(func() {
			for range 30 {
				run, err := newRunDir(data, log)
				if err != nil {
					t.Error(err)
					return
				}
				dir, lock, err := makeLocked(func() string { return filepath.Join(kept, rand.Text()) })
				if err != nil {
					t.Error(err)
					return
				}
				_ = keptSweep{log: log}.sweep(t.Context(), kept) // the others' go meanwhile
				if !lives(run.lock) || !lives(lock) {
					t.Error("a live server's directory is taken for a dead one's")
				}
				if err := errors.Join(run.close(), removeLock(lock), os.Remove(dir)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	servers.Wait()
}

// TestADirectoryThatWasRemovedIsMadeAnew, with a lock that other servers see.
func TestADirectoryThatWasRemovedIsMadeAnew(t *testing.T) {
	data, log := t.TempDir(), slog.New(slog.DiscardHandler)
	run, err := newRunDir(data, log)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time with nothing to do
		if err := errors.Join(os.RemoveAll(filepath.Join(data, "run")), run.remake(), run.remake()); err != nil {
			t.Fatal(err)
		}
	}
	removeLeftovers(filepath.Join(data, "run"), log)
	if _, err := os.Lstat(run.lock.Path()); err != nil {
		t.Error("taken for a dead server's: ", err)
	}
	if err := run.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(data, "run")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}
