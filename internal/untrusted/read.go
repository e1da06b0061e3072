package untrusted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// mostNames is how many names of a directory are listed at most, in no order: there may
// be millions.
const mostNames = 20_000

// NotRegularError says that there is something else than a regular file: a directory, or
// what is never opened, as pipes, sockets and devices.
type NotRegularError struct{ Type fs.FileMode }

func (e *NotRegularError) Error() string {
	if e.Type.IsDir() {
		return "it is a directory"
	}
	return fmt.Sprintf("it is no regular file (%s)", e.Type)
}

func regular(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &NotRegularError{info.Mode().Type()}
	}
	return nil
}

// ErrNotDir says that a directory was to be listed, and it is something else.
var ErrNotDir = errors.New("it is not a directory")

// OpenFile opens a file for reading, and nothing that is not one (a NotRegularError):
// opening a pipe or a device may wait for ever, or do something.
func OpenFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, err
	}
	// Not to block: it may have become a pipe since.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		_ = file.Close() // it was not even read
		return nil, nil, err
	}
	return file, info, nil
}

// List describes what is in a directory below root, in the order of the names and at most
// so many entries, and says how many more there are at least. It follows no link in it.
// ErrNotDir says that it is none.
func List(ctx context.Context, root *os.Root, name string, most int) (entries []fs.FileInfo, left int, err error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.IsDir() {
		return nil, 0, ErrNotDir
	}
	names, err := namesIn(ctx, root, name)
	if err != nil {
		return nil, 0, err
	}
	left = max(0, len(names)-most)
	for _, each := range names[:len(names)-left] {
		if info, err := root.Lstat(filepath.Join(name, each)); err == nil { // else it has just gone
			entries = append(entries, info)
		}
	}
	return entries, left, nil
}

// namesIn returns the first names of a directory, sorted.
func namesIn(ctx context.Context, root *os.Root, name string) (names []string, err error) {
	dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	for len(names) < mostNames && err == nil {
		var some []string
		if err = ctx.Err(); err == nil {
			some, err = dir.Readdirnames(namesAtOnce)
		}
		names = append(names, some...)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}
