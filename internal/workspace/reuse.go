package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

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
	stampName    = "prepared.json"
	lockName     = "lock"
	lockPoll     = 100 * time.Millisecond
	stampLimit   = 1 << 20
)

func (p *Plan) stamp() stamp {
	return stamp{Version: stampVersion, Link: p.options.Link, Sources: p.Sources()}
}

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
	wanted := p.stamp()
	if found.Version != wanted.Version || found.Link != wanted.Link || !slices.Equal(found.Sources, wanted.Sources) {
		return nil, fmt.Errorf("workspace: %s was made from other data (%v, %s); remove it to have it made anew, or choose another directory with --workspace", p.Input(), found.Sources, found.mode())
	}
	return found, nil
}

func (s stamp) mode() string {
	if s.Link {
		return "--data-mode link"
	}
	return "--data-mode copy"
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
	name := filepath.Join(ownName, stampName)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > stampLimit {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, err
	}
	found := &stamp{}
	return found, json.Unmarshal(data, found)
}

// write puts the stamp there before input/ is: one alone means nothing.
func (s stamp) write(root *os.Root) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(ownName, stampName)
	unfinished := name + ".new"
	_ = root.Remove(unfinished) // of a server that was killed, or another name of another's file
	file, err := root.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Rename(unfinished, name)
}

// lock waits until no other server prepares this workspace.
func (p *Plan) lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	if err := root.MkdirAll(ownName, 0o700); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	name := filepath.Join(ownName, lockName)
	// Code that ran here may have left something else, at which opening would hang.
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("workspace: %s is no file any more; remove it", filepath.Join(p.options.Dir, name))
	}
	lock := flock.New(filepath.Join(p.options.Dir, name))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("waiting for another server that prepares the workspace: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// survey counts the bytes of the sources, and sums up what they hold. Of what is
// only linked to, nothing is read: the link stays true whatever becomes of it.
func (p *Plan) survey(ctx context.Context) (stamp, error) {
	s := &surveyor{ctx: ctx, sum: sha256.New(), seen: map[string]bool{}}
	for _, item := range p.items {
		s.base = item.source.path
		if p.options.Link && !item.format.unpacked() {
			s.say(item.name, item.path)
			continue
		}
		err := filepath.WalkDir(item.path, s.visit)
		if err != nil {
			return stamp{}, fmt.Errorf("data: looking through %s: %w", item.path, err)
		}
	}
	p.total.Store(s.total)
	found := p.stamp()
	found.Contents = hex.EncodeToString(s.sum.Sum(nil))
	return found, nil
}

type surveyor struct {
	ctx   context.Context
	sum   hash.Hash
	total int64
	base  string          // the source
	seen  map[string]bool // what links out of the sources lead to
}

// follow looks through what a link out of the source leads to, as it is copied too.
func (s *surveyor) follow(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || target == s.base || within(s.base, target) || within(target, s.base) || s.seen[target] {
		return nil
	}
	s.seen[target] = !isFile(target) // a file is copied each time
	return filepath.WalkDir(target, s.visit)
}

func (s *surveyor) say(parts ...any) { fmt.Fprintf(s.sum, "%q\n", parts) }

func (s *surveyor) visit(path string, entry fs.DirEntry, err error) error {
	if err == nil {
		err = s.ctx.Err()
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && isLitter(entry.Name()) {
		return skip(entry)
	}
	if err != nil {
		return err
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		s.total += info.Size()
		s.say(path, info.Size(), info.ModTime().UnixNano())
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path) // "" for one that has gone
		s.say(path, target)
		return s.follow(path)
	case info.IsDir():
		s.say(path)
	}
	return nil
}

// skip leaves out an entry, with all that is in it.
func skip(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}
