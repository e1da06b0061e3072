package sessions

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"understudy/internal/untrusted"
)

// family is a session that no other was branched from, with its branches and theirs.
// They share one wall, as a branch is a copy of a process that is behind it, and
// one home: a directory that only they reach.
type family struct {
	id      string // that of the first session
	options *Options
	log     *slog.Logger

	copying   gate // the files of one branch at a time
	admission gate // one session of the family at a time

	mu      sync.Mutex
	members int    // sessions whose files are there
	walled  bool   // the Confiner knows of it
	moved   bool   // what they share in the home is handed over
	path    string // of the home, "" until it is made
}

// What a home holds beside working directories: what is mounted as /tmp, and what is
// installed for the sessions.
const (
	homeTmp      = "tmp"
	homePackages = "packages"
)

// homeName is the name of a family's home in WorkdirRoot.
func homeName(family string) string { return "home-" + keyOf(family) }

func newFamily(id string, options *Options) *family {
	return &family{id: id, options: options, log: options.Logger.With("family", id), members: 1, copying: newGate(), admission: newGate()}
}

// errFamilyEnded says that there is no wall any more to be born behind.
var errFamilyEnded = errors.New("the interpreter has ended")

// join adds a branch to the family.
func (f *family) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == 0 {
		return errFamilyEnded
	}
	f.members++
	return nil
}

// leave takes a session out whose processes and files are gone. With the last the
// home goes, and then nothing is left that bears the family's marks.
func (f *family) leave(ctx context.Context) {
	f.mu.Lock()
	f.members--
	last, path, walled := f.members == 0, f.path, f.walled
	f.mu.Unlock()
	if !last {
		return
	}
	if path != "" {
		if err := f.removeHome(ctx); err != nil {
			f.log.Warn("removing the interpreters' own directory", "dir", path, "error", err)
		}
	}
	if walled {
		f.options.confiner().Release(f.id)
	}
}

// admit has the family's wall made, and directories handed to who runs behind it. What
// the family shares is among them once: later on code is at work in it, and nothing of
// it is to be given away anew. No lock is held that others need: the wall may have to
// wait for Python. The session that asks is a member until it is done.
func (f *family) admit(ctx context.Context, c Confiner, dirs ...string) error {
	f.mu.Lock()
	f.walled = true // even if it fails: something of it may be there
	if !f.moved {
		dirs = append([]string{filepath.Join(f.path, homeTmp), filepath.Join(f.path, homePackages)}, dirs...)
	}
	f.mu.Unlock()
	if err := c.Admit(ctx, f.id, dirs...); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved = true
	return nil
}

// home returns the path of the family's directory, which it makes if need be. The
// sessions of a family that is confined may pass through it and write to what is in it.
func (f *family) home() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == 0 {
		return "", errFamilyEnded
	}
	if f.path != "" {
		return f.path, nil
	}
	root, err := f.options.homes.open(f.options)
	if err != nil {
		return "", err
	}
	name := homeName(f.id)
	if err := root.Mkdir(name, 0o700); err != nil {
		return "", err
	}
	if f.options.confiner() != nil {
		if err := furnish(root, name); err != nil {
			return "", errors.Join(err, root.RemoveAll(name))
		}
	}
	f.path = filepath.Join(f.options.WorkdirRoot, name)
	return f.path, nil
}

// remakeHome makes the home anew that somebody has removed, as who tidies up does: no
// session of the family could start a worker without it.
func (f *family) remakeHome() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return nil // there was none
	}
	root, err := f.options.homes.open(f.options)
	if err != nil {
		return err
	}
	name := homeName(f.id)
	if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.moved = false // what they share is to be handed over
	return errors.Join(root.Mkdir(name, 0o700), furnish(root, name))
}

// furnish makes what confined sessions need in their home before they start: what a
// wall is to let through must be there.
func furnish(root *os.Root, name string) error {
	return errors.Join(
		root.Chmod(name, 0o711), // whatever the umask is
		root.Mkdir(filepath.Join(name, homeTmp), 0o700),
		root.Mkdir(filepath.Join(name, homePackages), 0o700),
	)
}

// made returns the path of the home, "" if there is none.
func (f *family) made() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.path
}

// removeHome removes the home, but for what sessions have left there that is to stay.
func (f *family) removeHome(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeAllTime)
	defer cancel()
	root, err := f.options.homes.open(f.options)
	if err != nil {
		return err
	}
	name := homeName(f.id)
	if !f.options.keepsFiles() {
		return untrusted.RemoveTree(ctx, root, name)
	}
	home, err := untrusted.OpenDir(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = errors.Join(untrusted.RemoveTree(ctx, home, homeTmp), untrusted.RemoveTree(ctx, home, homePackages), home.Close())
	_ = root.Remove(name) // it stays while something is in it
	return err
}

// home returns the directory that the session shares with its family only, and makes
// it if need be.
func (s *Session) home() (string, error) {
	home, err := s.family.home()
	if err != nil {
		return "", Errorf(CodeStart, "the interpreter's own directory could not be made: %w", err)
	}
	return home, nil
}

// admit has the session's wall made, once, and its directories handed to who it will
// run as. The session's working directory must hold what it is born with.
func (s *Session) admit(ctx context.Context) error {
	c := s.options.confiner()
	if c == nil {
		return nil
	}
	if err := s.family.admission.acquire(ctx); err != nil {
		return callerGone(ctx, err)
	}
	defer s.family.admission.release()
	if s.admitted {
		return nil
	}
	var dirs []string
	for _, name := range s.ownNames() {
		dirs = append(dirs, s.options.ownDir(s.family.id, name))
	}
	if err := s.family.admit(ctx, c, dirs...); err != nil {
		return callerGone(ctx, Errorf(CodeStart, "the interpreter could not be confined: %w", err))
	}
	s.admitted = true
	return nil
}
