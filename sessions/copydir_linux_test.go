package sessions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestCopyDirNamesTheFileThatCanNotBeRead gives up the right to read every file,
// where the tests have it, for one thread.
func TestCopyDirNamesTheFileThatCanNotBeRead(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "secret", "x")
	for path, mode := range map[string]os.FileMode{
		filepath.Dir(from): 0o755, from: 0o755, filepath.Join(from, "secret"): 0, to: 0o777,
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the test
		const nobody = 65534
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }() // the directories are to be removed
	}
	_, err := copyPath(t.Context(), to, from)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
