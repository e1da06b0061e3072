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

// unconfined are the settings of a server without a sandbox.
func unconfined(t *testing.T) *config.Config {
	c := &config.Config{Shared: config.Shared{DataDir: t.TempDir()}}
	c.Serve.Sandbox = config.SandboxOff
	return c
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	expect(t, err == nil && len(left) == 0, "%s holds %v, %v", dir, left, err)
}

// TestTheFilesOfAServerThatDiedAreRemoved has one that left sessions' directories in
// each other, and one that lives.
func TestTheFilesOfAServerThatDiedAreRemoved(t *testing.T) {
	c, log := unconfined(t), quiet()
	runs := filepath.Join(c.DataDir, runsName)
	died, err := newRunDir(c, runsName, newRunName)
	lives, err2 := newRunDir(c, runsName, newRunName)
	must(t, errors.Join(err, err2))
	must(t, died.lock.Unlock())
	root, err := os.OpenRoot(died.dir)
	must(t, err)
	for range 100 {
		inner := root
		must(t, root.Mkdir("d", 0o700))
		if root, err = root.OpenRoot("d"); err != nil {
			t.Fatal(err)
		}
		_ = inner.Close()
	}
	_ = root.Close()
	removeLeftovers(runs, log)
	_, err = os.Lstat(died.dir)
	expect(t, errors.Is(err, fs.ErrNotExist), "%+v", err)
	must(t, lives.close())
	wantEmpty(t, runs)
}

// TestServersThatStartAtOnce make directories while others look for leftovers: each
// has its own, with a lock that is there and held.
func TestServersThatStartAtOnce(t *testing.T) {
	c, log := unconfined(t), quiet()
	runs := filepath.Join(c.DataDir, runsName)
	kept := filepath.Join(c.DataDir, keptName)
	must(t, os.MkdirAll(kept, 0o700))
	lives := func(lock *flock.Flock) bool {
		_, err := os.Lstat(lock.Path())
		free, _ := flock.New(lock.Path()).TryLock()
		return err == nil && !free
	}
	var servers sync.WaitGroup
	for range 8 {
		servers.Go(func() {
			for range 30 {
				removeLeftovers(runs, log)
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
				expect(t, lives(run.lock) && lives(lock), "a live server's directory is taken for a dead one's")
				err = errors.Join(run.close(), removeLock(lock), os.Remove(dir))
				expect(t, err == nil, "%+v", err)
			}
		})
	}
	servers.Wait()
}

// TestADirectoryThatWasRemovedIsMadeAnew, with a lock that other servers see.
func TestADirectoryThatWasRemovedIsMadeAnew(t *testing.T) {
	c, log := unconfined(t), quiet()
	runs := filepath.Join(c.DataDir, runsName)
	run, err := newRunDir(c, runsName, newRunName)
	must(t, err)
	for range 2 { // a second time with nothing to do
		must(t, errors.Join(os.RemoveAll(runs), run.remake(), run.remake()))
	}
	removeLeftovers(runs, log)
	_, err = os.Lstat(run.lock.Path())
	expect(t, err == nil, "taken for a dead server's: %v", err)
	must(t, run.close())
	wantEmpty(t, runs)
}

// TestKeptDirectoriesOfAServerThatDied: what it could not take back when it was killed
// the next server does, unless another one is at work there.
func TestKeptDirectoriesOfAServerThatDied(t *testing.T) {
	c, log := &config.Config{}, slog.New(slog.DiscardHandler)
	c.DataDir = t.TempDir()
	c.Serve.KeepWorkdirs, c.Serve.Sandbox = true, config.SandboxStandard
	other, err := reclaimWorkdirs(c, log)
	must(t, err)
	home := filepath.Join(c.DataDir, "workdirs", "home-a")
	for _, path := range []string{"a/results", "b", "tmp/x", "packages/y"} {
		must(t, os.MkdirAll(filepath.Join(home, path), 0o755))
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
		must(t, err)
	}
	start()
	if _, err := os.Lstat(filepath.Join(home, "tmp")); err != nil {
		t.Errorf("a server is at work there: %v", err)
	}
	must(t, other.Unlock())
	c.Serve.KeepWorkdirs = false // the next one may keep none
	start()
	for _, gone := range []string{"tmp", "packages"} {
		_, err := os.Lstat(filepath.Join(home, gone))
		expect(t, errors.Is(err, fs.ErrNotExist), "%s: %v", gone, err)
	}
	for _, name := range []string{"a", "b"} {
		info, err := os.Lstat(filepath.Join(home, name))
		must(t, err)
		owner, group, err := sandbox.OwnerOf(filepath.Join(home, name))
		expect(t, os.Geteuid() != 0 || (owner == 0 && group == 0 && err == nil && info.Mode().Perm() == 0o700),
			"%s belongs to %d:%d, %v %v", name, owner, group, info.Mode(), err)
	}
	must(t, errOf(os.Lstat(filepath.Join(home, "a", "results"))))
}
