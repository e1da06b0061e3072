package untrusted

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// copyPath is CopyDir for directories that nobody moves.
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
	return CopyDir(ctx, target, source, math.MaxInt64)
}

func TestCopyDirCopiesWhatADirectoryHolds(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	then := time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)
	big := strings.Repeat("0123456789", 300_000)
	for name, text := range map[string]string{"empty": "", "data.csv": big, "sub/deep/x": "x", "closed/y": "y"} {
		path := filepath.Join(from, filepath.FromSlash(name))
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o640), os.Chtimes(path, then, then)))
	}
	err := errors.Join(
		os.Chmod(filepath.Join(from, "data.csv"), 0o700),
		os.Symlink("data.csv", filepath.Join(from, "link")),
		os.Symlink("/nowhere/at/all", filepath.Join(from, "broken")),
		os.Chmod(filepath.Join(from, "closed"), 0o500), // nobody may write into it
		os.Chtimes(filepath.Join(from, "closed"), then, then),
	)
	must(t, err)
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
			expect(t, string(a) == string(b), "%s: %d bytes, not %d", name, len(b), len(a))
		case original.Mode()&fs.ModeSymlink != 0:
			a, _ := os.Readlink(path)
			b, _ := os.Readlink(filepath.Join(got, name))
			expect(t, a == b, "%s leads to %s, not %s", name, b, a)
		}
		return nil
	})
	expect(t, err == nil && seen >= 6, "%d compared, %v", seen, err)
}

func TestCopyDirStopsWithItsContext(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "x", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := copyPath(ctx, to, from)
	expect(t, errors.Is(err, context.Canceled), "%v", err)
}

func TestCopyDirNamesTheFileItCanNotWrite(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "x", "x")
	write(t, to, "x", "something else")
	_, err := copyPath(t.Context(), to, from)
	expect(t, errors.Is(err, fs.ErrExist) && strings.Contains(err.Error(), "x"), "%v", err)
}

func TestCopyDirRefusesWhatIsTooDeep(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	nest(t, from, deepest+50)
	_, err := copyPath(t.Context(), to, from)
	expect(t, err != nil && strings.Contains(err.Error(), "directories are nested"), "%v", err)
}

// TestNamesOfOneFileStayThat: code can give a file thousands of names that take no room.
func TestNamesOfOneFileStayThat(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "a", strings.Repeat("x", 1<<20))
	must(t, os.Mkdir(filepath.Join(from, "d"), 0o700))
	for i := range 30 {
		if err := os.Link(filepath.Join(from, "a"), filepath.Join(from, "d", strconv.Itoa(i))); err != nil {
			t.Skipf("no hard links here: %v", err)
		}
	}
	if _, shared := manyNames(statOf(t, filepath.Join(from, "a"))); !shared {
		t.Skip("nobody can tell here that two names are of one file")
	}
	if _, err := CopyDir(t.Context(), openRoot(t, to), openRoot(t, from), 2<<20); err != nil {
		t.Fatal(err)
	}
	expect(t, os.SameFile(statOf(t, filepath.Join(to, "a")), statOf(t, filepath.Join(to, "d", "29"))), "they are two files now")
	if used, err := DiskUsage(t.Context(), openRoot(t, to), math.MaxInt64); err != nil || used > 2<<20 {
		t.Errorf("%d bytes, %v", used, err)
	}
	for i := range 300 {
		write(t, from, "small"+strconv.Itoa(i), "x") // a block each
	}
	_, err := CopyDir(t.Context(), openRoot(t, t.TempDir()), openRoot(t, from), 2<<20)
	expect(t, errors.Is(err, ErrNoRoom), "%v", err)
}
