package preview

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLinks: links are followed within the directory and to the roots, and nowhere else.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege here")
	}
	secret := put(t, map[string]string{"secret.csv": "word,n\nswordfish,1\n"})
	given := put(t, map[string]string{"deep/x.csv": "a,b\n1,2\n", "sibling.csv": "word,n\nsibling,1\n", "one.csv": "only,b\n1,2\n"})
	dir := put(t, map[string]string{"own.csv": "own,b\n1,2\n", "sub/f.csv": "sub,b\n1,2\n", "other/f.csv": "o,b\n1,2\n"})
	for name, target := range map[string]string{
		"away.csv": filepath.Join(secret, "secret.csv"), "awaydir": secret, "device.csv": "/dev/zero", "nothing.csv": "nowhere", "self.csv": "self.csv",
		"given": filepath.Join(given, "deep"), "one.csv": filepath.Join(given, "one.csv"), "sibling.csv": filepath.Join(given, "sibling.csv"),
		"again.csv": "own.csv", "absolute.csv": filepath.Join(dir, "own.csv"), "loop": ".", "sub/twin": "../other", "sub/up": "..",
		"climb.csv": "../" + filepath.Base(secret) + "/secret.csv",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(given, "deep"), filepath.Join(given, "deep", "round")); err != nil {
		t.Fatal(err)
	}
	text := previewOf(t, dir, Options{Characters: 100_000, Roots: []string{filepath.Join(given, "deep"), filepath.Join(given, "one.csv")}})
	for _, want := range []string{
		"### given/x.csv\nCSV: 1 row × 2 columns", "### one.csv\nCSV: 1 row", "- only: integer",
		"loop/ (link to a directory above it)", "up/ (link to a directory above it)", "twin (0 B: link to a directory of this tree)", "round/ (link to a directory above it)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for _, never := range []string{"swordfish", "sibling\"", given, dir, secret} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in:\n%s", never, text)
		}
	}

	one := previewOf(t, put(t, map[string]string{"x": ""}), Options{})
	if !strings.Contains(one, "x (0 B: empty)") {
		t.Error(one)
	}
}

// TestReplaced: code that puts a link to elsewhere in the directory's place has nothing
// read for it, neither with the next look nor with one that has begun.
func TestReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege here")
	}
	secret := put(t, map[string]string{"secret.csv": "word,n\nswordfish,1\n"})
	dir := filepath.Join(put(t, map[string]string{"input/own.csv": "own,b\n1,2\n"}), "input")
	if err := os.Symlink(filepath.Join(dir, "own.csv"), filepath.Join(dir, "secret.csv")); err != nil {
		t.Fatal(err)
	}
	begun, err := openPlace(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer begun.close()
	if err := errors.Join(os.Rename(dir, dir+"2"), os.Symlink(secret, dir)); err != nil {
		t.Fatal(err)
	}
	if text, err := Describe(t.Context(), dir, Options{}); err == nil || strings.Contains(text, "secret") {
		t.Errorf("%v: %s", err, text)
	}
	if file, info, err := begun.openRegular("secret.csv"); err == nil {
		defer file.Close()
		if info.Size() != int64(len("own,b\n1,2\n")) {
			t.Errorf("%d bytes were opened", info.Size())
		}
	}
}

func TestUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	dir := put(t, map[string]string{"a.csv": "a,b\n1,2\n", "d/b.csv": "a,b\n1,2\n"})
	_ = os.Chmod(filepath.Join(dir, "a.csv"), 0)
	_ = os.Chmod(filepath.Join(dir, "d"), 0)
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o700) })
	text := previewOf(t, dir, Options{})
	for _, want := range []string{"a.csv (8 B: can't be read: permission denied)", "d/ (can't be read: permission denied)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestNoDirectory(t *testing.T) {
	if text, err := Describe(t.Context(), filepath.Join(t.TempDir(), "none"), Options{}); err == nil {
		t.Error(text)
	}
}

func TestNatural(t *testing.T) {
	order := []string{"a", "a1", "a01", "a2", "a10", "a10b", "b"}
	for i := range order {
		for k := range order {
			if naturally(order[i], order[k]) != (i < k) {
				t.Errorf("%s, %s: %t", order[i], order[k], naturally(order[i], order[k]))
			}
		}
	}
}
