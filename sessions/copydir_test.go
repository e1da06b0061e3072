package sessions

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// copyPath is copyDir for directories that nobody moves.
func copyPath(ctx context.Context, to, from string) ([]string, error) {
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	return copyDir(ctx, target, source, nil, math.MaxInt64)
}

func TestCopyDirCopiesWhatADirectoryHolds(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	then := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	big := strings.Repeat("0123456789", 300_000)
	for name, text := range map[string]string{"empty": "", "data.csv": big, "sub/deep/x": "x", "closed/y": "y"} {
		path := filepath.Join(from, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o640), os.Chtimes(path, then, then)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		os.Chmod(filepath.Join(from, "data.csv"), 0o700),
		os.Symlink("data.csv", filepath.Join(from, "link")),
		os.Symlink("/nowhere/at/all", filepath.Join(from, "broken")),
		os.Chmod(filepath.Join(from, "closed"), 0o500), // nobody may write into it
		os.Chtimes(filepath.Join(from, "closed"), then, then),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // or they could not be removed
		_ = os.Chmod(filepath.Join(from, "closed"), 0o700)
		_ = os.Chmod(filepath.Join(to, "closed"), 0o700)
	})
	if left, err := copyPath(t.Context(), to, from); err != nil || len(left) > 0 {
		t.Fatalf("%q %v", left, err)
	}
	compareDirs(t, to, from)
	if text, err := os.ReadFile(filepath.Join(to, "link")); string(text) != big {
		t.Errorf("through the link: %d bytes, %v", len(text), err)
	}
}

// compareDirs wants the same names, modes, times, links and contents.
func compareDirs(t *testing.T, got, want string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(want, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == want {
			return err
		}
		seen++
		name, _ := filepath.Rel(want, path)
		original, err := entry.Info()
		if err != nil {
			return err
		}
		copied, err := os.Lstat(filepath.Join(got, name))
		switch {
		case err != nil:
			return err
		case copied.Mode() != original.Mode():
			t.Errorf("%s: mode %v, not %v", name, copied.Mode(), original.Mode())
		case original.Mode()&fs.ModeSymlink == 0 && !copied.ModTime().Equal(original.ModTime()):
			t.Errorf("%s: time %v, not %v", name, copied.ModTime(), original.ModTime())
		case original.Mode().IsRegular():
			a, _ := os.ReadFile(path)
			b, _ := os.ReadFile(filepath.Join(got, name))
			if string(a) != string(b) {
				t.Errorf("%s: %d bytes, not %d", name, len(b), len(a))
			}
		case original.Mode()&fs.ModeSymlink != 0:
			a, _ := os.Readlink(path)
			if b, _ := os.Readlink(filepath.Join(got, name)); a != b {
				t.Errorf("%s leads to %s, not %s", name, b, a)
			}
		}
		return nil
	})
	if err != nil || seen < 6 {
		t.Errorf("%d compared, %v", seen, err)
	}
}

func TestCopyDirStopsWithItsContext(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "x", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := copyPath(ctx, to, from); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCopyDirNamesTheFileItCanNotWrite(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "x", "x")
	write(t, to, "x", "something else")
	if _, err := copyPath(t.Context(), to, from); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "x") {
		t.Error(err)
	}
}

func TestSomeOf(t *testing.T) {
	names := slices.Repeat([]string{"a"}, 7)
	if got := someOf(names); got != "a, a, a, a, a and 2 more" {
		t.Error(got)
	}
	if got := someOf(names[:2]); got != "a, a" {
		t.Error(got)
	}
}
