package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A link in a session's directory leads nobody's file to the session's user.
func TestHandOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	outside := filepath.Join(t.TempDir(), "outside")
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(outside, nil, 0o600), os.Mkdir(filepath.Join(dir, "deep"), 0o700),
		os.WriteFile(filepath.Join(dir, "deep", "file"), nil, 0o600), os.Symlink(outside, filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := handOver(dir, 4242); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, path := range []string{dir, filepath.Join(dir, "deep", "file"), filepath.Join(dir, "link"), outside} {
		got[filepath.Base(path)] = ownerOf(t, path)
	}
	want := map[string]int{filepath.Base(dir): 4242, "file": 4242, "link": 4242, "outside": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
