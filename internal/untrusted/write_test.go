package untrusted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// errKept is what these tests' mayReplace says.
var errKept = errors.New("it is kept")

func TestAFileIsWritten(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir, "old", "old")
	write(t, dir, "kept", "kept")
	write(t, other, "secret", "secret")
	if err := errors.Join(
		os.Chmod(filepath.Join(dir, "old"), 0o640), os.Mkdir(filepath.Join(dir, "d"), 0o700),
		os.Symlink(filepath.Join(other, "secret"), filepath.Join(dir, "link")), os.Symlink(other, filepath.Join(dir, "abroad")),
	); err != nil {
		t.Skipf("no links here: %v", err)
	}
	root := openRoot(t, dir)
	mayReplace := func(there fs.FileInfo) error {
		if there.Name() == "kept" {
			return errKept
		}
		return nil
	}
	for _, test := range []struct {
		name     string
		replaced bool
		fails    string // words of the error
	}{
		{"new", false, ""}, {"old", true, ""}, {"a/b/new", false, ""},
		{"kept", false, "it is kept"}, {"d", false, "it is a directory"}, {"link", false, "no regular file (L"},
		{"abroad/secret", false, "escapes"}, {"abroad/d/new", false, "escapes"}, {"old/new", false, "old"},
	} {
		name := filepath.FromSlash(test.name)
		replaced, err := WriteFile(root, name, []byte("text"), mayReplace)
		switch {
		case test.fails != "":
			expect(t, err != nil && strings.Contains(err.Error(), test.fails), "%s: %v", test.name, err)
		case err != nil || replaced != test.replaced:
			t.Errorf("%s: %v %v", test.name, replaced, err)
		default:
			text, err := root.ReadFile(name)
			expect(t, err == nil && string(text) == "text", "%s: %q %v", test.name, text, err)
		}
	}
	wantEntries(t, dir, "a", "abroad", "d", "kept", "link", "new", "old")
	wantEntries(t, other, "secret")
	if text, err := os.ReadFile(filepath.Join(other, "secret")); err != nil || string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
}

// TestAFileThatMeetsAnother has another come to be, or change, while it is written: that
// one stays.
func TestAFileThatMeetsAnother(t *testing.T) {
	for name, start := range map[string]string{"made": "", "changed": "written before"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if start != "" {
				write(t, dir, "notes", start)
			}
			w := &fileWrite{dir: openRoot(t, dir), name: "notes", mayReplace: func(there fs.FileInfo) error {
				if there.Size() != int64(len("written before")) {
					return errKept
				}
				return nil
			}}
			there, err := w.replaceable()
			insist(t, err == nil && (there != nil) == (start != ""), "%v %v", there, err)
			write(t, dir, "notes", "the user's")
			if _, err := w.put([]byte("x"), there); !errors.Is(err, errKept) {
				t.Error(err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "notes")); err != nil || string(text) != "the user's" {
				t.Errorf("%q, %v", text, err)
			}
			wantEntries(t, dir, "notes")
		})
	}
	// What goes away meanwhile is not missed.
	root := openRoot(t, t.TempDir())
	w := &fileWrite{dir: root, name: "notes", mayReplace: func(fs.FileInfo) error { return nil }}
	if replaced, err := w.put([]byte("x"), nil); replaced || err != nil {
		t.Error(replaced, err)
	}
	there, err := w.replaceable()
	must(t, err)
	must(t, root.Remove("notes"))
	if replaced, err := w.put([]byte("y"), there); replaced || err != nil {
		t.Error(replaced, err)
	}
}
