package untrusted

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// nest makes directories below each other, more than a path can name.
func nest(t *testing.T, dir string, depth int) {
	t.Helper()
	root := openRoot(t, dir)
	for range depth {
		must(t, errors.Join(root.Mkdir("d", 0o700), root.WriteFile("f", nil, 0o600)))
		inner, err := root.OpenRoot("d")
		must(t, err)
		_ = root.Close() // what was made in it is made
		root = inner
	}
	_ = root.Close()
}

func TestATreeIsRemovedHoweverDeepItIs(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "tree"), 0o700))
	nest(t, filepath.Join(dir, "tree"), 10*openAtOnce)
	err := RemoveTree(t.Context(), openRoot(t, dir), "tree")
	expect(t, err == nil, "%v", err)
	wantEntries(t, dir)
}

func TestATreeIsRemovedWhateverItsModes(t *testing.T) {
	dir := t.TempDir()
	for i := range 2500 { // more than are read at once
		write(t, dir, strconv.Itoa(i), "x")
	}
	closed := filepath.Join(dir, "closed", "inner")
	must(t, errors.Join(os.MkdirAll(closed, 0o700), os.WriteFile(filepath.Join(closed, "x"), nil, 0), os.Chmod(closed, 0), os.Chmod(filepath.Dir(closed), 0o500)))
	err := RemoveTree(t.Context(), openRoot(t, filepath.Dir(dir)), filepath.Base(dir))
	expect(t, err == nil, "%v", err)
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestARemovalFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, other, "x", "x")
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "tree"), 0o700), os.Symlink(other, filepath.Join(dir, "tree", "link")), os.Symlink(other, filepath.Join(dir, "top")),
	); err != nil {
		t.Skipf("no links here: %v", err)
	}
	root := openRoot(t, dir)
	err := errors.Join(RemoveTree(t.Context(), root, "tree"), RemoveTree(t.Context(), root, "top"), RemoveTree(t.Context(), root, "nothing"))
	expect(t, err == nil, "%v", err)
	wantEntries(t, dir)
	wantEntries(t, other, "x")
}

// TestARemovalEndsThoughFilesComeFaster has another fill the directory while it is removed.
func TestARemovalEndsThoughFilesComeFaster(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	r := &remover{ctx: &filling{Context: ctx, fill: func(n int) {
		if n == 5000 { // it goes on for as long as it is let
			cancel()
		}
		_ = root.MkdirAll(filepath.Join("tree", strconv.Itoa(n), "d"), 0o700)
	}}, top: root}
	must(t, root.MkdirAll("tree/d", 0o700))
	if r.remove(root, "tree", "tree", 0); !errors.Is(r.first, context.Canceled) {
		t.Error(r.first)
	}
	err := RemoveTree(t.Context(), root, "tree")
	expect(t, err == nil, "%v", err)
	wantEntries(t, dir)
}

// filling is a context that has something done whenever it is asked whether it has ended.
type filling struct {
	context.Context
	asked int
	fill  func(n int)
}

func (f *filling) Err() error {
	f.asked++
	f.fill(f.asked)
	return f.Context.Err()
}
