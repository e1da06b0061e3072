package app

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"understudy/internal/config"
	"understudy/internal/sandbox"
)

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
