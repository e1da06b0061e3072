package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// removeTime is how long a server that ends may take to remove what it leaves unused.
// The rest is removed by one that starts later.
const removeTime = 2 * time.Second

// removeTree removes what has that name, with all that is in it, until ctx ends. It
// follows no links, and what is not there is no error.
func removeTree(ctx context.Context, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if info.IsDir() {
		if err := empty(ctx, root, name); err != nil {
			return err
		}
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// empty removes what is in a directory. Its names are read in parts, as there may be
// a million.
func empty(ctx context.Context, root *os.Root, name string) error {
	inside, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = inside.Close() }() // nothing is written by way of it
	for {
		entries, err := some(inside)
		if len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			if err := removeTree(ctx, inside, entry.Name()); err != nil {
				return err
			}
		}
	}
}

// some lists the first entries of a directory.
func some(dir *os.Root) ([]fs.DirEntry, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(1000)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
