package workdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"understudy/internal/untrusted"
)

// Dirs are the directories of one session.
type Dirs struct {
	// Work is the path of the working directory, and Private that of the directory for
	// figures, artifacts and the code file.
	Work, Private string

	group *Group
	names []string // of those that are its own, beside each other: the private one last
	// made counts the directories made so far; prepared is how many had been when they were
	// handed over last, which takes a while.
	made, prepared atomic.Int64
}

// codeDir is where a worker puts the code file, in the private directory.
const codeDir = "code"

// NewDirs names the directories of a session; no other of this server has had its name.
func (g *Group) NewDirs(name string) *Dirs {
	d := &Dirs{group: g, names: []string{name, name + ".files"}, Work: g.roots.Shared}
	if g.roots.Shared != "" {
		d.names = []string{name}
	}
	d.made.Store(1) // it has no wall yet, whatever is there
	paths := d.paths()
	d.Private = paths[len(paths)-1]
	if d.Work == "" {
		d.Work = paths[0]
	}
	return d
}

// paths are those of the session's own directories.
func (d *Dirs) paths() (paths []string) {
	above := d.group.roots.Root
	if d.group.roots.Isolator != nil {
		above = d.group.roots.home(d.group.ID)
	}
	for _, name := range d.names {
		paths = append(paths, filepath.Join(above, name))
	}
	return paths
}

func (d *Dirs) privateName() string { return d.names[len(d.names)-1] }

// Make makes the directories as far as they are not there, at first and when code, or who
// tidies up, has removed them: no worker could start without. What has taken their place
// stays.
func (d *Dirs) Make() error {
	if r := d.group.roots; r.Isolator != nil || d.group.Made() != "" {
		if _, err := d.group.Home(); err != nil {
			return err
		}
	}
	if shared := d.group.roots.Shared; shared != "" {
		if err := os.MkdirAll(shared, 0o755); err != nil {
			return err
		}
		if _, _, err := d.group.roots.openShared(); err != nil { // before any code runs
			return err
		}
	}
	return d.besideOwn(func(above *os.Root) error {
		for _, name := range d.names {
			err := above.Mkdir(name, 0o700)
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err == nil { // it is to be handed over
				d.made.Add(1)
			}
		}
		return nil
	})
}

// PrepareSandbox has the session's wall made, once, and its directories handed to who it
// will run as.
func (d *Dirs) PrepareSandbox(ctx context.Context) error {
	if d.group.roots.Isolator == nil || d.prepared.Load() == d.made.Load() {
		return nil
	}
	if err := d.group.busy.Acquire(ctx, 1); err != nil {
		return err
	}
	defer d.group.busy.Release(1)
	made := d.made.Load()
	if d.prepared.Load() == made {
		return nil
	}
	if err := d.group.prepareSandbox(ctx, d.paths()...); err != nil {
		return err
	}
	d.prepared.Store(made)
	return nil
}

// besideOwn opens the directory that the session's own directories are in.
func (d *Dirs) besideOwn(do func(above *os.Root) error) error {
	root, err := d.group.roots.open()
	if err != nil {
		return err
	}
	if d.group.roots.Isolator == nil {
		return do(root)
	}
	home, err := untrusted.OpenDir(root, homePrefix+d.group.ID)
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }() // what was made in it is made
	return do(home)
}

// OpenWork opens the working directory. No path, whatever links there are, leads out of the
// root.
func (d *Dirs) OpenWork() (*os.Root, error) {
	if d.group.roots.Shared == "" {
		return d.open(d.names[0])
	}
	above, name, err := d.group.roots.openShared()
	if err != nil {
		return nil, err
	}
	return untrusted.OpenDir(above, name)
}

// OpenPrivate opens the private directory in the same way.
func (d *Dirs) OpenPrivate() (*os.Root, error) { return d.open(d.privateName()) }

func (d *Dirs) open(name string) (root *os.Root, err error) {
	err = d.besideOwn(func(above *os.Root) error {
		root, err = untrusted.OpenDir(above, name)
		return err
	})
	return root, err
}

// Do does something in the directories with the rights of the session's code.
func (d *Dirs) Do(do func() error) error {
	if os.Geteuid() != 0 || d.group.roots.Isolator == nil {
		return do()
	}
	root, err := d.group.roots.open()
	if err != nil {
		return err
	}
	tmp, err := root.Lstat(filepath.Join(homePrefix+d.group.ID, homeTmp)) // the wall has given it to the code
	if err != nil {
		return err
	}
	return untrusted.OwnerOf(tmp).Do(do)
}

// Copy copies what is in the working directory of another session of the group. It returns
// the names of what can't be copied by its nature. untrusted.ErrNoRoom says that the copy
// would pass the disk limit.
func (d *Dirs) Copy(ctx context.Context, parent *Dirs) (left []string, err error) {
	from, err := parent.OpenWork()
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := d.OpenWork()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := d.group.busy.Acquire(ctx, 1); err != nil { // two could take the same room
		return nil, err
	}
	defer d.group.busy.Release(1)
	room, err := d.group.room(ctx)
	if err != nil {
		return nil, err
	}
	err = d.Do(func() error {
		left, err = untrusted.CopyDir(ctx, to, from, room)
		return err
	})
	return left, err
}

// room is how many bytes the copy of a working directory may take of the disk: what the
// home leaves of the limit. Without one each working directory has the limit for itself.
func (g *Group) room(ctx context.Context) (int64, error) {
	limit := g.roots.DiskLimit
	switch {
	case limit <= 0:
		return math.MaxInt64, nil
	case g.Made() == "":
		return limit, nil
	}
	root, err := g.roots.open()
	if err != nil {
		return 0, err
	}
	home, err := untrusted.OpenDir(root, homePrefix+g.ID)
	if err != nil {
		return 0, err
	}
	defer func() { _ = home.Close() }() // it was only read
	used, err := untrusted.DiskUsage(ctx, home, limit)
	return limit - used, err
}

// Remove removes what is the session's own, but for what is to stay.
func (d *Dirs) Remove(ctx context.Context) error {
	r := d.group.roots
	err := d.removePrivate(ctx)
	switch {
	case r.Shared != "":
		return err
	case r.KeepWorkdirs:
		return errors.Join(err, d.reclaim(d.names[0]))
	}
	return errors.Join(err, d.remove(ctx, d.names[0]))
}

// removePrivate leaves what answers have named, if that is kept, and nothing else: no code
// file, and no directory that nothing is in.
func (d *Dirs) removePrivate(ctx context.Context) error {
	name := d.privateName()
	if !d.group.roots.KeepFiles && !d.group.roots.KeepWorkdirs {
		return d.remove(ctx, name)
	}
	return errors.Join(d.RemoveCode(), d.reclaim(name), ifThere(d.besideOwn(func(above *os.Root) error {
		_ = above.Remove(name) // it stays while something is in it
		return nil
	})))
}

// Discard removes all that is the session's own, as nobody has heard of it.
func (d *Dirs) Discard(ctx context.Context) (err error) {
	for _, name := range d.names {
		err = errors.Join(err, d.remove(ctx, name))
	}
	return err
}

// remove removes a directory that is the session's own.
func (d *Dirs) remove(ctx context.Context, name string) error {
	patience := removeAllTime
	if d.group.roots.Isolator != nil {
		patience = removeTime
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = d.reclaim(name) // so that branches don't reach it while it is removed
	err := d.besideOwn(func(above *os.Root) error { return untrusted.RemoveTree(ctx, above, name) })
	if errors.Is(err, context.DeadlineExceeded) && d.group.roots.Isolator != nil {
		return nil // the rest goes with the home
	}
	return ifThere(err)
}

// ifThere takes what is not there for no error.
func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveCode removes the code file of a worker that is no more.
func (d *Dirs) RemoveCode() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	root, err := d.OpenPrivate()
	if err == nil {
		err = errors.Join(untrusted.RemoveTree(ctx, root, codeDir), root.Close())
	}
	return ifThere(err)
}

// reclaim makes a directory the server's that is to stay, so that another group, which
// may run as the same user some day, does not reach what is in it. What is not there is no
// error.
func (d *Dirs) reclaim(name string) error {
	if d.group.roots.Isolator == nil {
		return nil
	}
	return ifThere(d.besideOwn(func(above *os.Root) error { return untrusted.Reclaim(above, name) }))
}

// Local returns a path of the private directory, relative to it. The path is the word of
// the session's code: nothing outside is meant by it.
func (d *Dirs) Local(path string) (string, error) {
	local, err := filepath.Rel(d.Private, path)
	if err != nil || !filepath.IsLocal(local) {
		return "", fmt.Errorf("%s is not in the interpreter's private directory", path)
	}
	return local, nil
}
