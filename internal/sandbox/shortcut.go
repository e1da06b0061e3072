package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
)

// longestTemporary is how long the path of a directory for temporary files may be. A
// Unix socket's path has 107 bytes at most, and multiprocessing puts its own into a
// directory of its own there, which takes 32.
const longestTemporary = 70

// shortcut returns a path for temporary files that leaves room for those of sockets:
// the directory itself, or a link to it, which goes when the family does.
func (w *Wall) shortcut(e *enclosure, temporary string) (string, error) {
	if len(temporary) <= longestTemporary {
		return temporary, nil
	}
	w.families.mu.Lock()
	defer w.families.mu.Unlock()
	if e.shortcut == "" {
		link := filepath.Join(os.TempDir(), "understudy-"+rand.Text()[:12])
		if err := os.Symlink(temporary, link); err != nil {
			return "", fmt.Errorf("making a short path for temporary files: %w", err)
		}
		e.shortcut = link
	}
	if len(e.shortcut) >= len(temporary) {
		return temporary, nil // the system's directory is no better
	}
	return e.shortcut, nil
}

// endShortcut removes the link, if there is one.
func (e *enclosure) endShortcut() {
	if e.shortcut != "" {
		_ = os.Remove(e.shortcut) // it leads nowhere now
	}
}
