package untrusted

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// openAtOnce is how many directories below each other a removal holds open. Code can
// nest a hundred thousand: who opened them all would have no descriptors left for
// anything else.
const openAtOnce = 30

// namesAtOnce is how many names of a directory are read at once.
const namesAtOnce = 1000

// remover removes directories that code has filled.
type remover struct {
	ctx   context.Context
	top   *os.Root
	later []string // directories from far below, which were moved up into top
	first error
}

// RemoveTree removes what has that name in top, with all that is in it, as code has left
// it: however deep that is, and following no link. What is not there is no error, and
// what can't be removed costs nothing but itself. Code that is still at work there can
// spoil it, and leads it nowhere out of top; as it can write faster than anybody removes,
// ctx is to end. Until it returns, and when ctx has ended it, top may hold directories
// under other names, which begin with ".removing-".
func RemoveTree(ctx context.Context, top *os.Root, name string) error {
	r := &remover{ctx: ctx, top: top, later: []string{name}}
	for len(r.later) > 0 {
		next := r.later[0]
		r.later = r.later[1:]
		r.remove(top, next, next, 0)
	}
	return r.first
}

// remove reports whether the entry of that name in dir is gone from there; path is where
// it is below top.
func (r *remover) remove(dir *os.Root, name, path string, depth int) bool {
	if err := r.ctx.Err(); err != nil {
		return r.fail(err)
	}
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	info, failed := dir.Lstat(name)
	if failed != nil || !info.IsDir() {
		return r.fail(err)
	}
	if info.Mode().Perm()&0o700 != 0o700 && os.Geteuid() != 0 { // else its owner could not empty it
		_ = dir.Chmod(name, 0o700) // what that did is seen at once
	}
	if depth == openAtOnce {
		return r.putOff(path)
	}
	for r.empty(dir, name, path, depth) {
		err := dir.Remove(name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if !errors.Is(err, fs.ErrExist) { // else something was written into it meanwhile
			return r.fail(err)
		}
	}
	return false
}

// empty removes what is in a directory, and reports whether that was all when it was
// read. Its names are read in parts, as there may be a million.
func (r *remover) empty(dir *os.Root, name, path string, depth int) bool {
	inside, err := OpenDir(dir, name)
	if err != nil {
		return r.fail(err)
	}
	defer func() { _ = inside.Close() }() // nothing is written by way of it
	for {
		names, err := someNames(inside)
		if err != nil {
			return r.fail(err)
		}
		if err := r.ctx.Err(); err != nil {
			return r.fail(err)
		}
		gone := 0
		for _, each := range names {
			if r.remove(inside, each, filepath.Join(path, each), depth+1) {
				gone++
			}
		}
		if gone == len(names) && gone < namesAtOnce {
			return true
		}
		if gone == 0 {
			return false
		}
	}
}

// putOff moves a directory up, to be removed from there.
func (r *remover) putOff(path string) bool {
	name := ".removing-" + rand.Text()
	if err := r.top.Rename(path, name); err != nil {
		return r.fail(err)
	}
	r.later = append(r.later, name)
	return true
}

func (r *remover) fail(err error) bool {
	if r.first == nil {
		r.first = err
	}
	return false
}

// someNames lists the first names in a directory.
func someNames(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, err := dir.Readdirnames(namesAtOnce)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}
