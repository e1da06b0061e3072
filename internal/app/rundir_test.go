package app

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofrs/flock"

	"understudy/internal/config"
)

// TestTheFilesOfAServerThatDiedAreRemoved has one that left sessions' directories in
// each other, and one that lives.
func TestTheFilesOfAServerThatDiedAreRemoved(t *testing.T) {
	c, log := &config.Config{Shared: config.Shared{DataDir: t.TempDir()}}, quiet()
	c.Serve.Sandbox = config.SandboxOff
	data := c.DataDir
	died, err := newRunDir(c, runsName, newRunName)
	if err != nil {
		t.Fatal(err)
	}
	lives, err := newRunDir(c, runsName, newRunName)
	if err != nil {
		t.Fatal(err)
	}
	if err := died.lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(died.dir)
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
	removeLeftovers(filepath.Join(data, runsName), log)
	if _, err := os.Lstat(died.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := lives.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(data, runsName)); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// TestServersThatStartAtOnce make directories while others look for leftovers: each
// has its own, with a lock that is there and held.
func TestServersThatStartAtOnce(t *testing.T) {
	c, log := &config.Config{Shared: config.Shared{DataDir: t.TempDir()}}, quiet()
	c.Serve.Sandbox = config.SandboxOff
	data := c.DataDir
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
				removeLeftovers(filepath.Join(data, runsName), log)
				run, err := newRunDir(c, runsName, newRunName)
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
	c, log := &config.Config{Shared: config.Shared{DataDir: t.TempDir()}}, quiet()
	c.Serve.Sandbox = config.SandboxOff
	data := c.DataDir
	run, err := newRunDir(c, runsName, newRunName)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time with nothing to do
		if err := errors.Join(os.RemoveAll(filepath.Join(data, runsName)), run.remake(), run.remake()); err != nil {
			t.Fatal(err)
		}
	}
	removeLeftovers(filepath.Join(data, runsName), log)
	if _, err := os.Lstat(run.lock.Path()); err != nil {
		t.Error("taken for a dead server's: ", err)
	}
	if err := run.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(data, runsName)); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}
