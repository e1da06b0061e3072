// Package workdir keeps the directories of sessions: where each works, where its code leaves
// figures and artifacts, and what it shares with its branches.
//
// A Group is a session that no other was branched from, with its branches and theirs. Behind
// walls it has a home (home-<group>, 0711 and the server's, so that its entries can't be
// replaced): its /tmp, its packages, and the working and private directories of its sessions
// (Dirs). Without walls these are beside each other, and a home is made for packages alone.
//
// All is opened by an os.Root of each level, so that nothing that code puts in the place of its
// own leads outside; where the server is root it acts as the code's user (Dirs.Do).
package workdir

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/semaphore"

	"understudy/internal/untrusted"
)

// Isolator makes walls, one for each group.
type Isolator interface {
	// PrepareSandbox sees to the wall of a group, whose id is that of its first session, and
	// hands directories of the server's to who its workers run as. It is called before
	// the first worker of each session starts, with its working directory, unless that
	// is one that all share, and for the first of a group with what is in its home.
	// What is in a directory already belongs to that user by then: to go through it
	// would be to go where the group's code may be at work.
	PrepareSandbox(ctx context.Context, group string, dirs ...string) error
	// Release is told that no process and no file of the group is left, but for
	// working directories that are kept.
	Release(group string)
}

// Options say where directories are and what becomes of them.
type Options struct {
	// Root is where the sessions' own directories are, made if it is not there. Remake makes
	// what it is in anew, when somebody has removed it under the server; nil: nothing is
	// needed but that the directories above are there.
	Root   string
	Remake func() error
	// Shared is the working directory that all sessions share, "" where each has its own.
	Shared string
	// KeepWorkdirs keeps all that is in working directories, and KeepFiles what answers have
	// named; KeepWorkdirs keeps that too.
	KeepWorkdirs, KeepFiles bool
	// DiskLimit is how many bytes the files of a group may take when a branch gets its copy
	// of them; 0 is no limit.
	DiskLimit int64
	Isolator  Isolator // nil: there are no walls
	Logger    *slog.Logger
}

// Roots are the directories that sessions' directories are in: Root, and what the working
// directory is in that all sessions share. They are opened before any code runs, and
// all is opened from there. A descriptor does for all sessions, and who makes its
// directory anew is found again.
type Roots struct {
	Options

	mu    sync.Mutex
	root  *os.Root // nil until something is made in it
	above *os.Root // what the shared directory is in; nil until a session is there
	name  string   // that of the shared directory there
}

// open returns Root, which it makes if need be: anew, too, when who tidies up
// has removed it under the server. Others may pass through it to what is theirs where
// sessions are other users.
func (r *Roots) open() (*os.Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root != nil && !untrusted.IsGone(r.root, r.Root) {
		return r.root, nil
	}
	if r.root != nil {
		_ = r.root.Close() // nothing can be made in it any more
		r.root = nil
	}
	if r.Remake != nil {
		if err := r.Remake(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(r.Root, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	if r.Isolator != nil {
		if err := root.Chmod(".", 0o711); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	r.root = root
	return root, nil
}

// openShared opens what the shared directory is in, once that is there.
func (r *Roots) openShared() (above *os.Root, name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.above == nil {
		r.above, r.name, err = untrusted.OpenParent(r.Shared)
	}
	return r.above, r.name, err
}

// Close lets go of the descriptors.
func (r *Roots) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, root := range []*os.Root{r.root, r.above} {
		if root != nil {
			_ = root.Close() // nothing is written by way of it
		}
	}
}

// NewGroup returns the group of a new session, its one member so far.
func (r *Roots) NewGroup(id string) *Group {
	return &Group{ID: id, roots: r, members: 1, busy: semaphore.NewWeighted(1)}
}

// home is the path of a group's home.
func (r *Roots) home(group string) string { return filepath.Join(r.Root, homePrefix+group) }
