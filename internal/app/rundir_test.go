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

	"understudy/internal/config"
	"understudy/internal/sandbox"
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

// TestKeptDirectoriesOfAServerThatDied: what it could not take back when it was killed
// the next server does, unless another one is at work there.
func TestKeptDirectoriesOfAServerThatDied(t *testing.T) {
	c, log := &config.Config{}, slog.New(slog.DiscardHandler)
	c.DataDir = t.TempDir()
	c.Serve.KeepWorkdirs, c.Serve.Sandbox = true, config.SandboxStandard
	other, err := reclaimWorkdirs(c, log)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(c.DataDir, "workdirs", "home-a")
	for _, path := range []string{"a/results", "b", "tmp/x", "packages/y"} {
		if err := os.MkdirAll(filepath.Join(home, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const user = 12345
	for _, name := range []string{"a", "a/results", "b", "tmp", "packages"} {
		if err := os.Chown(filepath.Join(home, name), user, user); err != nil && os.Geteuid() == 0 {
			t.Fatal(err)
		}
	}
	start := func() {
		t.Helper()
		lock, err := reclaimWorkdirs(c, log)
		if err == nil && lock != nil {
			err = lock.Unlock()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	start()
	if _, err := os.Lstat(filepath.Join(home, "tmp")); err != nil {
		t.Errorf("a server is at work there: %v", err)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	c.Serve.KeepWorkdirs = false // the next one may keep none
	start()
	for _, gone := range []string{"tmp", "packages"} {
		if _, err := os.Lstat(filepath.Join(home, gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		info, err := os.Lstat(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if owner, group, err := sandbox.OwnerOf(filepath.Join(home, name)); os.Geteuid() == 0 && (owner != 0 || group != 0 || err != nil || info.Mode().Perm() != 0o700) {
			t.Errorf("%s belongs to %d:%d, %v %v", name, owner, group, info.Mode(), err)
		}
	}
	if _, err := os.Lstat(filepath.Join(home, "a", "results")); err != nil {
		t.Error(err)
	}
}
