//go:build unix

package untrusted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOnlyWhatItIsIsOpened has code put links and pipes in the place of directories and
// files: no link is followed out of the root, and no pipe is waited for.
func TestOnlyWhatItIsIsOpened(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir, "file", "text")
	write(t, other, "secret", "secret")
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "d"), 0o700), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink("d", filepath.Join(dir, "within")), os.Symlink(other, filepath.Join(dir, "abroad")),
		os.Symlink("file", filepath.Join(dir, "link")),
	); err != nil {
		t.Fatal(err)
	}
	root := openRoot(t, dir)
	for _, test := range []struct {
		name            string
		dir, list, file string // words of the errors; "-" where there is none
	}{
		{"d", "-", "-", "it is a directory"},
		{"within", "no directory any more (L", "-", "it is a directory"},
		{"abroad", "no directory any more (L", "escapes", "escapes"},
		{"abroad/secret", "escapes", "escapes", "escapes"},
		{"pipe", "no directory any more (p", "not a directory", "no regular file (p"},
		{"file", "no directory any more (-", "not a directory", "-"},
		{"link", "no directory any more (L", "not a directory", "-"},
		{"nothing", "no such file", "no such file", "no such file"},
	} {
		want := func(what, words string, err error) {
			t.Helper()
			if words == "-" && err != nil || words != "-" && (err == nil || !strings.Contains(err.Error(), words)) {
				t.Errorf("%s as %s: %v", test.name, what, err)
			}
		}
		opened, err := OpenDir(root, test.name)
		want("directory", test.dir, err)
		if err == nil {
			_ = opened.Close()
		}
		_, _, err = List(t.Context(), root, test.name, 10)
		want("list", test.list, err)
		file, _, err := OpenFile(root, test.name)
		want("file", test.file, err)
		_ = file.Close()
	}
	if _, err := openOnlyDir(root, "pipe"); err == nil {
		t.Error("a pipe was opened as a directory")
	}
	entries, left, err := List(t.Context(), root, ".", 4)
	if err != nil || len(entries) != 4 || left != 2 || entries[0].Name() != "abroad" || entries[0].Mode().Type() != fs.ModeSymlink {
		t.Errorf("%v %d %v", entries, left, err)
	}
}

func TestADirectoryIsGone(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "d")
	must(t, os.Mkdir(dir, 0o700))
	above, name, err := OpenParent(dir)
	insist(t, err == nil && name == "d", "%v %v", name, err)
	defer above.Close()
	opened := openRoot(t, dir)
	for _, step := range []struct {
		name string
		do   func() error
		gone bool
	}{
		{"there", func() error { return nil }, false},
		{"moved", func() error { return os.Rename(dir, dir+"2") }, true},
		{"a link", func() error { return os.Symlink("d2", dir) }, false},
		{"another", func() error { return errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)) }, true},
	} {
		must(t, step.do())
		gone := IsGone(opened, dir)
		expect(t, gone == step.gone, "%s: %v", step.name, gone)
	}
	if _, name, err := OpenParent("/"); err != nil || name != "." {
		t.Error(name, err)
	}
}
