//go:build unix

package preview

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: nobody waits for a writer.
func TestPipe(t *testing.T) {
	dir := put(t, map[string]string{"b.csv": "a,b\n1,2\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "a.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := previewOf(t, dir, Options{})
	if !strings.Contains(text, "a.csv (0 B: not a regular file)") || !strings.Contains(text, "### b.csv") {
		t.Error(text)
	}
}
