package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestUnreadable fails at once for a source, and by name for what is in one. It gives up
// the right to read every file, where the tests have it, for one thread.
func TestUnreadable(t *testing.T) {
	dir, w := files(t, map[string]string{"d/x": "1"}), t.TempDir()
	x := filepath.Join(dir, "d", "x")
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, filepath.Dir(w): 0o755, dir: 0o755, filepath.Dir(x): 0o755, x: 0, w: 0o777} {
		must(t, os.Chmod(path, mode))
	}
	if os.Getuid() == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the test
		const nobody = 65534
		must(t, syscall.Setfsuid(nobody))
		defer func() { _ = syscall.Setfsuid(0) }() // what was made is to be removed
	}
	_, err := NewPlan([]string{x}, Options{Dir: filepath.Join(w, "one")})
	expect(t, err != nil && strings.Contains(err.Error(), "can't be read"), "as a source: %v", err)
	_, err = mustPlan(t, Options{Dir: filepath.Join(w, "two")}, dir).Prepare(t.Context())
	expect(t, err != nil && strings.Contains(err.Error(), filepath.Join("d", "x")), "in a source: %v", err)
}
