package library

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"understudy/internal/check"
)

var expect, insist = check.Expect, check.Insist

func testPackages(text string) map[string]fs.FS {
	return map[string]fs.FS{
		"pyworker": fstest.MapFS{
			"__init__.py":       {Data: []byte(text)},
			"loop.py":           {Data: []byte("x = 1\n")},
			"requirements.lock": {Data: []byte("numpy\n")},
		},
		"matplotlib_capture": fstest.MapFS{"__init__.py": {Data: []byte("")}},
	}
}

func mustLibrary(t *testing.T, cache, text string) *Library {
	t.Helper()
	l, err := New(cache, testPackages(text))
	insist(t, err == nil, "%v", err)
	return l
}

func mustEnsure(t *testing.T, l *Library) string {
	t.Helper()
	dir, err := l.Ensure()
	insist(t, err == nil, "%v", err)
	return dir
}

func TestLibraryIsRepaired(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(t.TempDir(), "not", "there", "yet")
	l := mustLibrary(t, cache, "first")
	dir := mustEnsure(t, l)
	changed, removed := filepath.Join(dir, "pyworker", "__init__.py"), filepath.Join(dir, "pyworker", "loop.py")
	if err := os.WriteFile(changed, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(removed); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "matplotlib_capture")); err != nil {
		t.Fatal(err)
	}
	again := mustEnsure(t, l)
	expect(t, again == dir, "moved from %s to %s", dir, again)
	for path, want := range map[string]string{changed: "first", removed: "x = 1\n"} {
		if data, err := os.ReadFile(path); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "matplotlib_capture", "__init__.py")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pyworker", "requirements.lock")); err == nil {
		t.Error("a file that is no Python module was laid down")
	}
}

func TestLibrariesOfTwoVersionsLieSideBySide(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	first, second := mustEnsure(t, mustLibrary(t, cache, "first")), mustEnsure(t, mustLibrary(t, cache, "second"))
	insist(t, first != second, "different contents, one directory")
}

// Servers that start at the same time share the cache; each has its own lock.
func TestLibraryIsExtractedByManyAtOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	var servers sync.WaitGroup
	for range 20 {
		l := mustLibrary(t, cache, "text")
		servers.Go(func() {
			dir, err := l.Ensure()
			if err != nil {
				t.Error(err)
				return
			}
			if data, err := os.ReadFile(filepath.Join(dir, "pyworker", "__init__.py")); err != nil || string(data) != "text" {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
	servers.Wait()
	entries, err := os.ReadDir(cache)
	expect(t, err == nil && len(entries) == 1, "the cache holds %v, %v", entries, err)
}
