package untrusted

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// TestCopyDirLeavesOutWhatCanNotBeRead gives up the right to read every file,
// where the tests have it, for one thread.
func TestCopyDirLeavesOutWhatCanNotBeRead(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "secret", "x")
	listed := filepath.Join(from, "listed")
	must(t, os.Mkdir(filepath.Join(from, "unlisted"), 0o311))
	must(t, os.Mkdir(listed, 0o755))
	must(t, os.Symlink("x", filepath.Join(listed, "link")))
	for path, mode := range map[string]os.FileMode{
		filepath.Dir(from): 0o755, from: 0o755, filepath.Join(from, "secret"): 0, listed: 0o444, to: 0o777,
	} {
		must(t, os.Chmod(path, mode))
	}
	defer func() { _ = os.Chmod(listed, 0o755) }() // so that it can be removed
	if os.Getuid() == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the test
		const nobody = 65534
		must(t, syscall.Setfsuid(nobody))
		defer func() { _ = syscall.Setfsuid(0) }() // the directories are to be removed
	}
	left, err := copyPath(t.Context(), to, from)
	expect(t, err == nil && slices.Equal(left, []string{"listed", "secret", "unlisted"}), "%v, left out: %v", err, left)
}

// TestACopyTakesNoMoreRoomThanItsFile has a file of a terabyte with two bytes in it.
func TestACopyTakesNoMoreRoomThanItsFile(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	const size = 1 << 40
	file, err := os.Create(filepath.Join(from, "large"))
	must(t, err)
	_, err = file.WriteAt([]byte("a"), 0)
	_, middle := file.WriteAt([]byte("b"), size/2)
	if err := errors.Join(err, middle, file.Truncate(size), file.Close()); err != nil {
		t.Skipf("no such files here: %v", err)
	}
	if left, err := copyPath(t.Context(), to, from); err != nil || len(left) > 0 {
		t.Fatalf("%q %v", left, err)
	}
	copied, err := os.Open(filepath.Join(to, "large"))
	must(t, err)
	defer copied.Close()
	info, err := copied.Stat()
	insist(t, err == nil && info.Size() == size, "%v %v", info, err)
	blocks := info.Sys().(*syscall.Stat_t).Blocks
	expect(t, blocks*512 <= 1<<20, "it takes %d bytes", blocks*512)
	for at, want := range map[int64]byte{0: 'a', size / 2: 'b', 1: 0, size - 1: 0} {
		var got [1]byte
		_, err := copied.ReadAt(got[:], at)
		expect(t, err == nil && got[0] == want, "at %d: %q %v", at, got, err)
	}
}
