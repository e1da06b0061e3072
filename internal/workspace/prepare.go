package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// Summary says what Prepare has made.
type Summary struct {
	// Reused is true when the data was there from an earlier run.
	Reused bool
	// Files and Bytes are what was written to input/.
	Files int
	Bytes int64
	// Notes are plain sentences about what was left out or left as it is; More is
	// how many more there are.
	Notes []string
	More  int
}

// preparation is one run of Prepare.
type preparation struct {
	*Plan
	ctx     context.Context //nolint:containedctx // it lives as long as one preparation
	root    *os.Root        // what is not prepared to its end
	meter   *meter
	source  source // the one that is being copied
	scratch int    // numbers the directories that archives are unpacked in
	made    Summary
}

// manyNotes is how many notes are kept.
const manyNotes = 50

func (p *preparation) note(format string, args ...any) {
	if len(p.made.Notes) == manyNotes {
		p.made.More++
		return
	}
	p.made.Notes = append(p.made.Notes, fmt.Sprintf(format, args...))
}

// Prepare copies, links and unpacks the data into input/, which appears when all of
// it is there: what fails, or is stopped by ctx, leaves nothing. Two servers with
// one workspace take turns. working/ is made beside it. Root prepares it for the user
// to whom the workspace belongs.
func (p *Plan) Prepare(ctx context.Context) (Summary, error) {
	if err := os.MkdirAll(p.options.Dir, 0o700); err != nil {
		return Summary{}, fmt.Errorf("making the workspace: %w", err)
	}
	root, err := os.OpenRoot(p.options.Dir)
	if err != nil {
		return Summary{}, fmt.Errorf("opening the workspace: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is written by way of it
	if err := makeWorking(root); err != nil {
		return Summary{}, fmt.Errorf("making %s: %w", filepath.Join(p.options.Dir, WorkingName), err)
	}
	unlock, err := p.lock(ctx, root)
	if err != nil {
		return Summary{}, err
	}
	defer func() { unlock() }()
	wanted, err := p.survey(ctx)
	if err != nil {
		return Summary{}, err
	}
	if reused, err := p.reuse(root, wanted); reused || err != nil {
		return Summary{Reused: reused}, err
	}
	made, err := p.fill(ctx, root, wanted)
	if err == nil {
		return made, root.RemoveAll(partialName)
	}
	limited, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	removed := unlock
	unlock = func() {} // nobody else is to fill what is still being removed
	return Summary{}, errors.Join(err, inTime(limited, func() error {
		defer removed()
		return root.RemoveAll(partialName)
	}))
}

// makeWorking makes working/ for the owner of the workspace, unless it is there.
func makeWorking(root *os.Root) error {
	err := root.Mkdir(WorkingName, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return root.MkdirAll(WorkingName, 0o700) // it may be a link to a directory
	}
	if err != nil {
		return err
	}
	return giveToOwner(root, root, WorkingName)
}

// fill makes what becomes input/, and gives it its name.
func (p *Plan) fill(ctx context.Context, root *os.Root, wanted stamp) (Summary, error) {
	err := root.RemoveAll(partialName) // of a server that was killed
	if _, marked := root.Lstat(earlierMark); marked == nil {
		err = errors.Join(err, root.RemoveAll(earlierPartial), root.Remove(earlierMark))
	}
	if err != nil {
		return Summary{}, fmt.Errorf("removing what is not prepared to its end: %w", err)
	}
	if err := root.MkdirAll(partialName+"/"+InputName, 0o700); err != nil {
		return Summary{}, err
	}
	partial, err := root.OpenRoot(partialName)
	if err != nil {
		return Summary{}, err
	}
	defer func() { _ = partial.Close() }() // what it wrote is closed
	made, err := p.into(ctx, partial)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = wanted.write(root)
	}
	if err == nil {
		err = giveToOwner(root, partial, InputName)
	}
	if err == nil {
		err = root.Rename(partialName+"/"+InputName, InputName)
	}
	return made, err
}

// into copies all sources.
func (p *Plan) into(ctx context.Context, root *os.Root) (Summary, error) {
	workspace, err := os.Stat(p.options.Dir)
	if err != nil {
		return Summary{}, err
	}
	work := &preparation{
		Plan: p, ctx: ctx, root: root,
		meter: &meter{limits: p.options.Limits, room: freeRoom(p.options.Dir, p.options.Limits.Reserve)},
	}
	if total := p.total.Load(); total > work.meter.room {
		return Summary{}, fmt.Errorf("data: the sources are %s, and the disk has %s for them: make room, or choose another disk with --workspace", size(total), size(work.meter.room))
	}
	for _, work.source = range p.sources {
		if err := p.walk(ctx, work.source, []fs.FileInfo{workspace}, work.put); err != nil {
			return Summary{}, err
		}
	}
	return work.made, nil
}

// giveToOwner gives a directory that root has made, with all that is in it, to the user to
// whom the workspace belongs, and never what a link leads to. It comes last itself: until
// then nobody reaches the rest.
func giveToOwner(workspace, root *os.Root, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := workspace.Stat(".")
	if err != nil {
		return err
	}
	uid, gid := idsOf(info)
	if uid <= 0 {
		return nil
	}
	err = below(root, name, func(path string, _ fs.DirEntry) error {
		return root.Lchown(filepath.FromSlash(path), uid, gid)
	})
	if err != nil {
		return err
	}
	return root.Lchown(name, uid, gid)
}

// stamp says what input/ was made from, so that it can be used again.
type stamp struct {
	Version int      `json:"version"`
	Link    bool     `json:"link"`
	Sources []string `json:"sources"`
	// Contents is a sum of the names, sizes and times of what is in the sources.
	Contents string `json:"contents"`
}

const (
	stampVersion = 1
	stampName    = ownName + "/prepared.json"
	lockName     = ownName + "/lock"
	lockPoll     = 100 * time.Millisecond
	stampLimit   = 1 << 20
)

// checkEarlier refuses a workspace with data in it that can't be used again, as
// far as can be told without reading the sources.
func (p *Plan) checkEarlier() error {
	root, err := os.OpenRoot(p.options.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	defer func() { _ = root.Close() }() // it is only read
	_, err = p.earlier(root)
	return err
}

// earlier returns the stamp of the data that is there, nil if there is none.
func (p *Plan) earlier(root *os.Root) (*stamp, error) {
	info, err := root.Lstat(InputName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	found, err := readStamp(root)
	if err != nil || !info.IsDir() {
		return nil, fmt.Errorf("workspace: %s is there already and is not of --data; move it away, or choose another directory with --workspace", p.Input())
	}
	if found.Version != stampVersion || found.Link != p.options.Link || !slices.Equal(found.Sources, p.Sources()) {
		mode := "copy"
		if found.Link {
			mode = "link"
		}
		return nil, fmt.Errorf("workspace: %s was made from other data (%v, --data-mode %s); remove it to have it made anew, or choose another directory with --workspace", p.Input(), found.Sources, mode)
	}
	return found, nil
}

// reuse reports whether the data that is there is what is wanted.
func (p *Plan) reuse(root *os.Root, wanted stamp) (bool, error) {
	found, err := p.earlier(root)
	if found == nil || err != nil {
		return false, err
	}
	if found.Contents != wanted.Contents {
		return false, fmt.Errorf("workspace: the data has changed since %s was made from it; remove that directory to have it made anew, or choose another with --workspace", p.Input())
	}
	p.done.Store(p.total.Load())
	return true, nil
}

func readStamp(root *os.Root) (*stamp, error) {
	if info, err := root.Lstat(stampName); err != nil || !info.Mode().IsRegular() || info.Size() > stampLimit {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	data, err := root.ReadFile(stampName)
	if err != nil {
		return nil, err
	}
	found := &stamp{}
	return found, json.Unmarshal(data, found)
}

// write puts the stamp there before input/ is: one alone means nothing. It may replace
// another name of somebody's file, and never writes to that.
func (s stamp) write(root *os.Root) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	unfinished := partialName + "/stamp"
	if err := root.WriteFile(unfinished, data, 0o600); err != nil {
		return err
	}
	return root.Rename(unfinished, stampName)
}

// lock waits until no other server prepares this workspace.
func (p *Plan) lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	if err := root.MkdirAll(ownName, 0o700); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	path := filepath.Join(p.options.Dir, lockName)
	// Code that ran here may have left something else, at which opening would hang.
	if info, err := root.Lstat(lockName); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("workspace: %s is no file any more; remove it", path)
	}
	lock := flock.New(path)
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("waiting for another server that prepares the workspace: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// survey counts the bytes of the sources, and sums up what they hold. Of what is
// only linked to, nothing is read: the link stays true whatever becomes of it.
func (p *Plan) survey(ctx context.Context) (stamp, error) {
	sum := sha256.New()
	say := func(parts ...any) { fmt.Fprintf(sum, "%q\n", parts) }
	total := int64(0)
	visit := func(f found) error {
		switch {
		case p.options.Link && f.into == "":
			say(f.to, f.from)
		case f.info.Mode()&fs.ModeSymlink != 0:
			say(f.from, f.target)
		case f.info.Mode().IsRegular():
			total += f.info.Size()
			say(f.from, f.info.Size(), f.info.ModTime().UnixNano())
		case f.info.IsDir() && !f.left:
			say(f.from)
		}
		return ctx.Err()
	}
	for _, s := range p.sources {
		if err := p.walk(ctx, s, nil, visit); err != nil {
			return stamp{}, err
		}
	}
	p.total.Store(total)
	return stamp{stampVersion, p.options.Link, p.Sources(), hex.EncodeToString(sum.Sum(nil))}, nil
}
