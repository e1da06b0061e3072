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
	"strings"
)

// deepest is how many directories below each other are copied: the names alone of those
// in a hundred thousand would take gigabytes.
const deepest = 200

// copyStep is how many bytes of a file are copied between two looks at the context.
const copyStep = 256 << 20

// blockSize is what is counted for a file's beginning, and for a directory.
const blockSize = 4096

// ErrNoRoom says that a copy would take more of the disk than it may.
var ErrNoRoom = errors.New("the copy takes more than is left of the disk limit")

// tree copies one directory into another. Both are roots, so that no link,
// however it changes meanwhile, leads a copy outside of them.
type tree struct {
	from, to *os.Root
	dirs     []string          // made so far, parents first
	left     []string          // sockets, pipes, devices, and what its mode lets nobody read
	room     int64             // bytes of the disk that the rest may take
	names    map[fileID]string // of the copies of files that have several
}

// CopyDir copies what the directory from holds into the directory to: files with their
// modes and times, links as they are. It returns the names of what can't be copied by its
// nature or its mode. A file that vanishes meanwhile is left out. A copy that would take
// more than room bytes of the disk is an ErrNoRoom.
func CopyDir(ctx context.Context, to, from *os.Root, room int64) (left []string, err error) {
	t := &tree{from: from, to: to, room: room, names: map[fileID]string{}}
	err = fs.WalkDir(t.from.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if name != "." && errors.Is(err, fs.ErrPermission) { // a directory that can't be listed
			t.left = append(t.left, name)
			return fs.SkipDir
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && name != "." {
			err = t.copy(ctx, name, entry)
		}
		if name != "." && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err == nil {
		err = t.finish()
	}
	return t.left, err
}

func (t *tree) copy(ctx context.Context, name string, entry fs.DirEntry) error {
	if strings.Count(name, "/") > deepest {
		return fmt.Errorf("more than %d directories are nested in %.100s…", deepest, name)
	}
	switch entry.Type() {
	case 0:
		return t.copyFile(ctx, name)
	case fs.ModeDir:
		t.dirs = append(t.dirs, name)
		if err := t.take(blockSize); err != nil {
			return err
		}
		return t.to.Mkdir(name, 0o700) // its own mode may forbid to fill it
	case fs.ModeSymlink:
		return t.copyLink(name)
	default:
		t.left = append(t.left, name)
		return nil
	}
}

func (t *tree) copyLink(name string) error {
	target, err := t.from.Readlink(name)
	if err != nil {
		return err
	}
	return t.to.Symlink(target, name)
}

func (t *tree) copyFile(ctx context.Context, name string) error {
	source, info, err := OpenFile(t.from, name)
	var other *NotRegularError
	// It has become that since it was listed, or its own mode forbids to read it.
	if errors.As(err, &other) || errors.Is(err, fs.ErrPermission) {
		t.left = append(t.left, name)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	if t.linked(name, info) {
		return nil
	}
	target, err := t.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(t.copyBytes(ctx, target, source, info.Size()), target.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return t.dress(name, info)
}

// copyBytes copies size bytes, and no more if the file grows meanwhile. What is not
// written of the file is not written of its copy: code can make a file of terabytes that
// takes no room, and the copy is to take none.
func (t *tree) copyBytes(ctx context.Context, target, source *os.File, size int64) error {
	if err := target.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		begin, end := written(source, at, size)
		if begin == size {
			return nil
		}
		err := t.take(end - begin)
		if err == nil {
			_, err = source.Seek(begin, io.SeekStart)
		}
		if err == nil {
			_, err = target.Seek(begin, io.SeekStart)
		}
		if err == nil {
			err = copyPiece(ctx, target, source, end-begin)
		}
		if errors.Is(err, io.EOF) { // it was cut meanwhile
			return cutHere(target)
		}
		if err != nil {
			return err
		}
		at = end
	}
	return nil
}

// copyPiece copies so many bytes. Between two files io.CopyN has the kernel do it.
func copyPiece(ctx context.Context, target, source *os.File, size int64) error {
	for size > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(target, source, min(size, copyStep))
		if err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// cutHere ends a file where it was written to last.
func cutHere(file *os.File) error {
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return file.Truncate(at)
}

// dress gives a copy the mode and the times of what it was copied from.
func (t *tree) dress(name string, info fs.FileInfo) error {
	if err := t.to.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return t.to.Chmod(name, info.Mode()&bits)
}

// finish dresses the directories, the inner ones first: filling one changes
// its times.
func (t *tree) finish() error {
	for _, name := range slices.Backward(t.dirs) {
		info, err := t.from.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		if err := t.dress(name, info); err != nil {
			return err
		}
	}
	return nil
}

// take counts what is about to be written.
func (t *tree) take(size int64) error {
	if t.room -= (size + blockSize - 1) / blockSize * blockSize; t.room < 0 {
		return ErrNoRoom
	}
	return nil
}

// linked reports whether a file is there already under another name, and then makes its
// copy another name of that one's: what code can multiply without using any room takes
// none when it is copied.
func (t *tree) linked(name string, info fs.FileInfo) bool {
	id, shared := manyNames(info)
	if !shared {
		return false
	}
	if first, ok := t.names[id]; ok && t.to.Link(first, name) == nil {
		return true
	}
	t.names[id] = filepath.Clean(name) // it may have as many names as there can be
	return false
}

// DiskUsage is how many bytes of the disk a directory takes, counted no further than to
// enough. What goes meanwhile doesn't count, nor what is too deep to be copied.
func DiskUsage(ctx context.Context, dir *os.Root, enough int64) (used int64, err error) {
	seen := map[fileID]bool{}
	err = fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if id, shared := manyNames(info); !shared || !seen[id] {
			used += onDisk(info)
			if shared {
				seen[id] = true
			}
		}
		switch {
		case used > enough:
			return fs.SkipAll
		case entry.IsDir() && strings.Count(name, "/") > deepest:
			return fs.SkipDir
		}
		return nil
	})
	return used, err
}
