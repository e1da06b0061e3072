package sessions

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNamesOfOneFileStayThat: code can give a file thousands of names that take no room.
func TestNamesOfOneFileStayThat(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "a", strings.Repeat("x", 1<<20))
	if err := os.Mkdir(filepath.Join(from, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := os.Link(filepath.Join(from, "a"), filepath.Join(from, "d", strconv.Itoa(i))); err != nil {
			t.Skipf("no hard links here: %v", err)
		}
	}
	if _, shared := manyNames(statOf(t, filepath.Join(from, "a"))); !shared {
		t.Skip("nobody can tell here that two names are of one file")
	}
	if _, err := copyDir(t.Context(), openRoot(t, to), openRoot(t, from), nil, 2<<20); err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(statOf(t, filepath.Join(to, "a")), statOf(t, filepath.Join(to, "d", "29"))) {
		t.Error("they are two files now")
	}
	if used, err := usedBelow(t.Context(), openRoot(t, to), math.MaxInt64); err != nil || used > 2<<20 {
		t.Errorf("%d bytes, %v", used, err)
	}
	for i := range 300 {
		write(t, from, "small"+strconv.Itoa(i), "x") // a block each
	}
	_, err := copyDir(t.Context(), openRoot(t, t.TempDir()), openRoot(t, from), nil, 2<<20)
	if !errors.Is(err, errNoRoom) {
		t.Error(err)
	}
}

func statOf(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestBranchesShareTheDiskLimit(t *testing.T) {
	m, _, root := walled(t, func(o *Options) { o.DiskLimit = 3 << 20 })
	run(t, m, "a")
	parent := list(t, m)[0]
	write(t, parent.Workdir, "data", strings.Repeat("x", 1<<20))
	child := branch(t, m, parent.ID)
	_, err := m.Branch(t.Context(), me, child.ID)
	wantCode(t, err, CodeLimit, "limit of 3 MiB (--disk-limit)", "delete files below "+child.Workdir)
	wantEntries(t, filepath.Join(root, "home-"+parent.ID), "tmp", "packages", parent.ID, parent.ID+".files", child.ID, child.ID+".files")
	remove(t, m, parent.ID)
	branch(t, m, child.ID)
}
