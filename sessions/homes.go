package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// homes are the directories that working directories are in: WorkdirRoot, and what
// the one is in that all sessions share. They are opened before any code runs, and
// all is opened from there: code that puts something else in the place of its own
// leads no reader to it. A descriptor does for all sessions, and who makes its
// directory anew is found again.
type homes struct {
	mu     sync.Mutex
	root   *os.Root // WorkdirRoot; nil until something is made in it
	above  *os.Root // what the shared directory is in; nil until a session is there
	shared string   // its name there
}

// open returns WorkdirRoot, which it makes if need be. Others may pass through it to
// what is theirs where sessions are other users.
func (h *homes) open(o *Options) (*os.Root, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.root != nil {
		return h.root, nil
	}
	if err := os.MkdirAll(o.WorkdirRoot, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.WorkdirRoot)
	if err != nil {
		return nil, err
	}
	if o.confiner() != nil {
		if err := root.Chmod(".", 0o711); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	h.root = root
	return root, nil
}

// openShared opens what the shared directory is in, once that is there.
func (h *homes) openShared(o *Options) (above *os.Root, name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.above == nil {
		h.above, h.shared, err = openAbove(o.Workdir)
	}
	return h.above, h.shared, err
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
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, root := range []*os.Root{h.root, h.above} {
		if root != nil {
			_ = root.Close() // nothing is written by way of it
		}
	}
}

// makeDirs makes the session's directories, as far as they are not there.
func (s *Session) makeDirs() error {
	if s.options.confiner() != nil {
		if _, err := s.family.home(); err != nil {
			return Errorf(CodeStart, "the interpreter's own directory could not be made: %w", err)
		}
	}
	if s.options.Workdir != "" {
		if err := os.MkdirAll(s.workdir, 0o700); err != nil {
			return Errorf(CodeStart, "the working directory could not be made: %w", err)
		}
	}
	err := s.besideWorkdir(func(above *os.Root, name string) error {
		if s.options.Workdir != "" {
			return nil
		}
		return above.Mkdir(name, 0o700)
	})
	if err != nil {
		return Errorf(CodeStart, "the working directory could not be made: %w", err)
	}
	return nil
}

// remakeWorkdir makes the session's own working directory anew if its code has removed
// it: no worker could start without. What has taken its place stays.
func (s *Session) remakeWorkdir(ctx context.Context) error {
	if s.options.Workdir != "" || s.life.Err() != nil { // nobody would remove it any more
		return nil
	}
	err := s.besideWorkdir(func(above *os.Root, name string) error { return above.Mkdir(name, 0o700) })
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		return nil // where even the home is gone, the start says so
	case err != nil:
		return Errorf(CodeStart, "the working directory could not be made anew: %w; delete the interpreter and create another", err)
	}
	if s.options.confiner() == nil {
		return nil
	}
	if err := s.family.admission.acquire(ctx); err != nil {
		return callerGone(ctx, err)
	}
	defer s.family.admission.release()
	s.admitted = false // it is to be handed over
	return nil
}

// besideWorkdir opens the directory that the working directory is in, and calls do
// with it and with the working directory's name there.
func (s *Session) besideWorkdir(do func(above *os.Root, name string) error) error {
	if s.options.Workdir != "" {
		above, name, err := s.options.homes.openShared(s.options)
		if err != nil {
			return err
		}
		return do(above, name)
	}
	root, err := s.options.homes.open(s.options)
	if err != nil {
		return err
	}
	if s.options.confiner() == nil {
		return do(root, keyOf(s.id))
	}
	home, err := openBelow(root, homeName(s.family.id))
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }() // what was made in it is made
	return do(home, keyOf(s.id))
}

// openWorkdir opens the session's working directory. No path, whatever links
// there are, leads out of the root.
func (s *Session) openWorkdir() (root *os.Root, err error) {
	err = s.besideWorkdir(func(above *os.Root, name string) error {
		root, err = openBelow(above, name)
		return err
	})
	if err != nil {
		return nil, Errorf(CodeNotFound, "the working directory of interpreter %s can't be opened: %w", s.name, err)
	}
	return root, nil
}

const (
	// removeTime bounds the removal of one session's files. Branches can write into its
	// working directory meanwhile; what is left goes with the family's home.
	removeTime = 5 * time.Second
	// removeAllTime is for what nobody is at work in any more, and nobody else removes.
	removeAllTime = time.Minute
)

// removeWorkdir removes a working directory that is the session's own.
func (s *Session) removeWorkdir(ctx context.Context) error {
	patience := removeAllTime
	if s.options.confiner() != nil {
		patience = removeTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.takeBack(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Debug("closing the working directory before it is removed", "dir", s.workdir, "error", err)
	}
	err := s.besideWorkdir(func(above *os.Root, name string) error { return RemoveTree(ctx, above, name) })
	if errors.Is(err, context.DeadlineExceeded) && s.options.confiner() != nil {
		s.log.Info("the rest of the session's files goes with those of its branches", "dir", s.workdir)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// takeBack makes a working directory the server's that is to stay, so that another
// family, which may run as the same user some day, does not reach what is in it; and one
// that is to go, so that branches do not.
func (s *Session) takeBack() error {
	if s.options.confiner() == nil {
		return nil
	}
	return s.besideWorkdir(takeBackDir)
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
