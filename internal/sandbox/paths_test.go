package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What a home's code has put in the place of a directory is replaced, never followed.
func TestKeepDirectory(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	there := filepath.Join(home, "tmp")
	for name, put := range map[string]func() error{
		"a link":      func() error { return os.Symlink(outside, there) },
		"a file":      func() error { return os.WriteFile(there, nil, 0o600) },
		"nothing":     func() error { return nil },
		"a directory": func() error { return os.Mkdir(there, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			must(t, put())
			must(t, keepDirectory(home, "tmp"))
			if info, err := os.Lstat(there); err != nil || !info.IsDir() {
				t.Errorf("it is %v, %v", info, err)
			}
			must(t, os.Remove(there))
		})
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// Paths keep the meaning that they had as the server started, whatever becomes a link
// later.
func TestPathsAreSettledOnce(t *testing.T) {
	base := t.TempDir()
	given, shared, outside := filepath.Join(base, "given"), filepath.Join(base, "shared"), filepath.Join(base, "outside")
	for _, dir := range []string{given, shared, outside} {
		must(t, os.Mkdir(dir, 0o777))
	}
	link := filepath.Join(base, "link")
	must(t, os.Symlink(given, link))
	w, err := New(Settings{Mode: Standard, Read: []string{link}, Shared: shared}, Host{Landlock: 7, User: 1000})
	must(t, err)
	for _, path := range []string{given, shared} {
		must(t, os.Rename(path, path+"-moved"))
		must(t, os.Symlink(outside, path))
	}
	expect(t, slices.Equal(w.settings.Read, []string{resolved(base) + "/given"}), "to read: %v", w.settings.Read)
	home := filepath.Join(base, "outside", "home")
	gotHome, gotWorkdir := w.locate(home, shared)
	expect(t, gotHome == home && gotWorkdir == shared, "got %s, %s", gotHome, gotWorkdir)
	work := filepath.Join(home, "work")
	must(t, os.MkdirAll(home, 0o777))
	must(t, os.Symlink(base, work))
	_, got := w.locate(home, work)
	expect(t, got == work, "a link in the place of a working directory is followed: %s", got)
}
