package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Links are followed once, as the server starts: from then on code may put others where
// it can write. A wall is made of the paths that were found then, and workers open them
// without following any link (pyworker/sandbox/confine.py).

// settled follows the links of paths, as far as the paths are there, and leaves out
// links that lead nowhere.
func settled(paths []string) (found []string) {
	for _, path := range paths {
		path = resolved(path)
		info, err := os.Lstat(path)
		if isLink := err == nil && info.Mode()&fs.ModeSymlink != 0; !isLink && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}

// resolved is a path without links. What is not there yet can be none.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	above := filepath.Dir(path)
	if above == path {
		return path
	}
	return filepath.Join(resolved(above), filepath.Base(path))
}

// present returns those of settled paths that are there.
func present(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// existing returns the paths that there are, without links. It is for paths of the
// system's, which no code changes.
func existing(paths []string) []string { return present(settled(paths)) }

// locate returns where a family's home and its working directory are. What they are in
// is the server's or the operator's; they themselves may have become links.
func (w *Wall) locate(home, workdir string) (string, string) {
	if home != "" {
		home = filepath.Join(resolved(filepath.Dir(home)), filepath.Base(home))
	}
	if workdir == w.settings.Shared {
		return home, w.shared
	}
	return home, filepath.Join(resolved(filepath.Dir(workdir)), filepath.Base(workdir))
}

// keepDirectory sees to it that a home has a directory of that name, and no link: where
// the home is its code's user's own, code may have put anything in its place.
func keepDirectory(home, name string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("the interpreter's own directory: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is written by way of it
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = root.Remove(name)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = root.Mkdir(name, 0o700)
	}
	if err != nil {
		return fmt.Errorf("the interpreter's directory for temporary files: %w", err)
	}
	return nil
}
