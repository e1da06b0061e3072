package sessions

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// homes is the directory that the working directories are in. It is opened
// before any code runs, and they are opened from there: code that puts something
// else in the place of its own leads no reader to it. One descriptor does for all
// sessions, and who makes its directory anew is found again.
type homes struct {
	once   sync.Once
	root   *os.Root
	shared string // the name in root of the one that all sessions share
	err    error
}

// open is to be called once the first working directory is there.
func (h *homes) open(o *Options) error {
	h.once.Do(func() {
		if o.Workdir == "" {
			h.root, h.err = os.OpenRoot(o.WorkdirRoot)
			return
		}
		h.root, h.shared, h.err = openAbove(o.Workdir)
	})
	return h.err
}

// openAbove opens the directory that dir is in, and returns dir's name there; or,
// where that can't be, dir itself.
func openAbove(dir string) (*os.Root, string, error) {
	dir, err := filepath.EvalSymlinks(dir) // it is the operator's: only what changes from now on counts
	if err != nil {
		return nil, "", err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if root, err := os.OpenRoot(parent); err == nil {
			return root, filepath.Base(dir), nil
		}
	}
	root, err := os.OpenRoot(dir)
	return root, ".", err
}

func (h *homes) close() {
	if h.root != nil {
		_ = h.root.Close() // nothing is written by way of it
	}
}

// openWorkdir opens the session's working directory. No path, whatever links
// there are, leads out of the root.
func (s *Session) openWorkdir() (*os.Root, error) {
	name := s.options.homes.shared
	if s.options.Workdir == "" {
		name = s.id
	}
	root, err := openBelow(s.options.homes.root, name)
	if err != nil {
		return nil, Errorf(CodeNotFound, "the working directory of interpreter %s can't be opened: %w", s.id, err)
	}
	return root, nil
}

// openBelow opens a directory of that name in home, and no link.
func openBelow(home *os.Root, name string) (*os.Root, error) {
	there, err := home.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !there.IsDir() {
		return nil, fmt.Errorf("it is no directory any more (%s)", there.Mode().Type())
	}
	// With the dot it is opened as a directory only, should it have become a pipe.
	root, err := home.OpenRoot(name + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(there, opened) {
		_ = root.Close() // it was not even read
		return nil, fmt.Errorf("it was replaced while it was opened; try again")
	}
	return root, nil
}
