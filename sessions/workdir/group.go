package workdir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"understudy/internal/untrusted"
)

// Group is a session that no other was branched from, with its branches and theirs.
// They share one wall, as a branch is a copy of a process that is behind it, and
// one home: a directory that only they reach.
type Group struct {
	ID    string // that of the first session
	roots *Roots
	busy  *semaphore.Weighted // held while directories of a member's are handed over, or filled

	mu      sync.Mutex
	members int    // sessions whose files are there
	walled  bool   // the Isolator knows of it
	handed  bool   // what they share in the home is handed over
	path    string // of the home, "" until it is made
}

// Packages is the name of the directory in a home for what is installed for the sessions.
const Packages = "packages"

const (
	homePrefix = "home-"
	homeTmp    = "tmp" // what is mounted as /tmp
)

// ErrEnded says that nothing is left of a group that could be joined.
var ErrEnded = errors.New("the interpreter has ended")

// Join adds a branch to the group. Its error is ErrEnded.
func (g *Group) Join() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.members == 0 {
		return ErrEnded
	}
	g.members++
	return nil
}

// Leave takes a session out whose processes and files are gone. With the last the
// home goes, and then nothing is left that bears the group's marks.
func (g *Group) Leave(ctx context.Context) {
	g.mu.Lock()
	g.members--
	last, path, walled := g.members == 0, g.path, g.walled
	g.mu.Unlock()
	if !last {
		return
	}
	if path != "" {
		if err := g.removeHome(ctx); err != nil {
			g.roots.Logger.Warn("removing the interpreters' own directory", "dir", path, "error", err)
		}
	}
	if walled {
		g.roots.Isolator.Release(g.ID)
	}
}

// Made returns the path of the home, "" if there is none.
func (g *Group) Made() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.path
}

// Home returns the path of the home, which it makes if need be: anew, too, when somebody
// has removed it. The sessions of a group behind a wall may pass through it and write to
// what is in it.
func (g *Group) Home() (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.members == 0 {
		return "", ErrEnded
	}
	root, err := g.roots.open()
	if err != nil {
		return "", err
	}
	name := homePrefix + g.ID
	if g.path != "" {
		if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return g.path, err
		}
	}
	if err := root.Mkdir(name, 0o700); err != nil {
		return "", err
	}
	if g.roots.Isolator != nil {
		if err := furnish(root, name); err != nil {
			return "", errors.Join(err, root.RemoveAll(name))
		}
	}
	g.path, g.handed = g.roots.home(g.ID), false
	return g.path, nil
}

// furnish makes what sessions behind a wall need in their home before they start: what a
// wall is to let through must be there.
func furnish(root *os.Root, name string) error {
	return errors.Join(
		root.Chmod(name, 0o711), // whatever the umask is
		root.Mkdir(filepath.Join(name, homeTmp), 0o700),
		root.Mkdir(filepath.Join(name, Packages), 0o700),
	)
}

// prepareSandbox has the group's wall made, and directories handed to who runs behind it.
// What the group shares is among them once: later on code is at work in it, and nothing of
// it is to be given away anew. No lock is held that others need: the wall may have to
// wait for Python. The session that asks is a member until it is done.
func (g *Group) prepareSandbox(ctx context.Context, dirs ...string) error {
	g.mu.Lock()
	g.walled = true // even if it fails: something of it may be there
	handed := g.handed
	if !handed {
		dirs = append([]string{filepath.Join(g.path, homeTmp), filepath.Join(g.path, Packages)}, dirs...)
	}
	g.handed = true // at once: the home may be made anew meanwhile
	g.mu.Unlock()
	err := g.roots.Isolator.PrepareSandbox(ctx, g.ID, dirs...)
	if err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.handed = g.handed && handed
	}
	return err
}

const (
	// removeTime bounds the removal of one session's files. Branches can write into its
	// working directory meanwhile; what is left goes with the group's home.
	removeTime = 5 * time.Second
	// removeAllTime is for what nobody is at work in any more, and nobody else removes.
	removeAllTime = time.Minute
)

// removeHome removes the home, but for what sessions have left there that is to stay.
func (g *Group) removeHome(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeAllTime)
	defer cancel()
	root, err := g.roots.open()
	if err != nil {
		return err
	}
	name := homePrefix + g.ID
	if !g.roots.KeepFiles && !g.roots.KeepWorkdirs {
		return untrusted.RemoveTree(ctx, root, name)
	}
	home, err := untrusted.OpenDir(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = errors.Join(untrusted.RemoveTree(ctx, home, homeTmp), untrusted.RemoveTree(ctx, home, Packages), home.Close())
	_ = root.Remove(name) // it stays while something is in it
	return err
}
