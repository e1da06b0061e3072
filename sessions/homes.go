package sessions

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"understudy/internal/untrusted"
)

// homes are the directories that sessions' directories are in: WorkdirRoot, and what
// the working directory is in that all sessions share. They are opened before any code runs, and
// all is opened from there: code that puts something else in the place of its own
// leads no reader to it. A descriptor does for all sessions, and who makes its
// directory anew is found again.
type homes struct {
	mu     sync.Mutex
	root   *os.Root // WorkdirRoot; nil until something is made in it
	above  *os.Root // what the shared directory is in; nil until a session is there
	shared string   // its name there
}

// open returns WorkdirRoot, which it makes if need be: anew, too, when who tidies up
// has removed it under the server. Others may pass through it to what is theirs where
// sessions are other users.
func (h *homes) open(o *Options) (*os.Root, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.root != nil && !untrusted.IsGone(h.root, o.WorkdirRoot) {
		return h.root, nil
	}
	if h.root != nil {
		_ = h.root.Close() // nothing can be made in it any more
		h.root = nil
	}
	if o.RemakeRoot != nil {
		if err := o.RemakeRoot(); err != nil {
			return nil, err
		}
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
		h.above, h.shared, err = untrusted.OpenParent(o.Workdir)
	}
	return h.above, h.shared, err
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
		if err := os.MkdirAll(s.workdir, 0o755); err != nil {
			return Errorf(CodeStart, "the working directory could not be made: %w", err)
		}
		if _, _, err := s.options.homes.openShared(s.options); err != nil { // before any code runs
			return Errorf(CodeStart, "the working directory could not be opened: %w", err)
		}
	}
	err := s.besideOwn(func(above *os.Root) (err error) {
		for _, name := range s.ownNames() {
			err = errors.Join(err, above.Mkdir(name, 0o700))
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // the home of the session that this one is a branch of
		return Errorf(CodeStart, "the interpreter's directories could not be made, as what they are to be in was removed under the server; manage_interpreters with operation restart makes it anew: %w", err)
	}
	if err != nil {
		return Errorf(CodeStart, "the interpreter's directories could not be made: %w", err)
	}
	return nil
}

// remakeDirs makes directories of the session's own anew if its code has removed them:
// no worker could start without. What has taken their place stays.
func (s *Session) remakeDirs(ctx context.Context) error {
	if s.life.Err() != nil { // nobody would remove them any more
		return nil
	}
	if err := s.family.remakeHome(); err != nil {
		return Errorf(CodeStart, "the interpreter's own directory could not be made anew: %w; delete the interpreter and create another", err)
	}
	made := false
	err := s.besideOwn(func(above *os.Root) error {
		for _, name := range s.ownNames() {
			err := above.Mkdir(name, 0o700)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			made = made || err == nil
		}
		return nil
	})
	if err != nil {
		return Errorf(CodeStart, "the interpreter's directories could not be made anew: %w; delete the interpreter and create another", err)
	}
	if !made || s.options.confiner() == nil {
		return nil
	}
	if err := s.family.admission.acquire(ctx); err != nil {
		return callerGone(ctx, err)
	}
	defer s.family.admission.release()
	s.admitted = false // they are to be handed over
	return nil
}

// ownNames are the names of the session's own directories, beside each other.
func (s *Session) ownNames() []string {
	if s.options.Workdir != "" {
		return []string{s.privateName()}
	}
	return []string{s.own, s.privateName()}
}

// privateName is the name of the private directory, beside the working directory if that
// is the session's own.
func (s *Session) privateName() string {
	if s.options.Workdir != "" {
		return s.own
	}
	return s.own + ".files"
}

// codeDir is where a worker puts the code file, in the private directory.
const codeDir = "code"

// besideOwn opens the directory that the session's own directories are in.
func (s *Session) besideOwn(do func(above *os.Root) error) error {
	root, err := s.options.homes.open(s.options)
	if err != nil {
		return err
	}
	if s.options.confiner() == nil {
		return do(root)
	}
	home, err := untrusted.OpenDir(root, homeName(s.family.id))
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }() // what was made in it is made
	return do(home)
}

// openWorkdir opens the session's working directory. No path, whatever links
// there are, leads out of the root.
func (s *Session) openWorkdir() (root *os.Root, err error) {
	if s.options.Workdir == "" {
		return s.openOwn("working directory", s.own)
	}
	above, name, err := s.options.homes.openShared(s.options)
	if err == nil {
		root, err = untrusted.OpenDir(above, name)
	}
	if err != nil {
		return nil, Errorf(CodeNotFound, "the working directory of interpreter %s can't be opened: %w", s.name, err)
	}
	return root, nil
}

// openPrivate opens the session's private directory in the same way.
func (s *Session) openPrivate() (*os.Root, error) {
	return s.openOwn("directory for figures and artifacts", s.privateName())
}

func (s *Session) openOwn(what, name string) (root *os.Root, err error) {
	err = s.besideOwn(func(above *os.Root) error {
		root, err = untrusted.OpenDir(above, name)
		return err
	})
	if err != nil {
		return nil, Errorf(CodeNotFound, "the %s of interpreter %s can't be opened: %w", what, s.name, err)
	}
	return root, nil
}

// ownerOf returns to whom the session's working directory belongs.
func (s *Session) ownerOf(workdir *os.Root) (*untrusted.Owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	info, err := workdir.Stat(".")
	if err != nil {
		return nil, err
	}
	if s.options.confiner() == nil {
		return untrusted.NewOwner(info, nil), nil
	}
	root, err := s.options.homes.open(s.options)
	if err != nil {
		return nil, err
	}
	tmp, err := root.Lstat(filepath.Join(homeName(s.family.id), homeTmp)) // the wall has given it to the code
	if err != nil {
		return nil, err
	}
	return untrusted.NewOwner(info, tmp), nil
}

const (
	// removeTime bounds the removal of one session's files. Branches can write into its
	// working directory meanwhile; what is left goes with the family's home.
	removeTime = 5 * time.Second
	// removeAllTime is for what nobody is at work in any more, and nobody else removes.
	removeAllTime = time.Minute
)

// removeOwn removes a directory that is the session's own.
func (s *Session) removeOwn(ctx context.Context, name string) error {
	patience := removeAllTime
	if s.options.confiner() != nil {
		patience = removeTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.takeBack(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Debug("closing a directory before it is removed", "dir", name, "error", err)
	}
	err := s.besideOwn(func(above *os.Root) error { return untrusted.RemoveTree(ctx, above, name) })
	if errors.Is(err, context.DeadlineExceeded) && s.options.confiner() != nil {
		s.log.Info("the rest of the session's files goes with those of its branches", "dir", name)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keepPrivate leaves what answers have named, and nothing else: no code file, and no
// directory that nothing is in.
func (s *Session) keepPrivate() error {
	s.removeCode()
	for _, dir := range []string{filepath.Join(s.dir, "executions"), s.dir} {
		_ = os.Remove(dir) // it stays while something is in it, or is not there
	}
	name := s.privateName()
	err := s.takeBack(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, s.besideOwn(func(above *os.Root) error {
		_ = above.Remove(name) // it stays while something is in it
		return nil
	}))
}

// removeCode removes the code file of a worker that is no more.
func (s *Session) removeCode() {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	root, err := s.openPrivate()
	if err == nil {
		err = errors.Join(untrusted.RemoveTree(ctx, root, codeDir), root.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("removing the code file", "error", err)
	}
}

// takeBack makes a directory the server's that is to stay, so that another family, which
// may run as the same user some day, does not reach what is in it; and one that is to go,
// so that branches do not.
func (s *Session) takeBack(name string) error {
	if s.options.confiner() == nil {
		return nil
	}
	return s.besideOwn(func(above *os.Root) error { return untrusted.Reclaim(above, name) })
}
