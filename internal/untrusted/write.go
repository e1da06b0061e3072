package untrusted

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file by way of a temporary one beside it, so that readers see the old
// file or the new one and nothing between. Directories that are missing on the way to it are
// made. It replaces nothing but a regular file (else the error is a NotRegularError) that
// mayReplace lets it replace, whose error it returns.
func WriteFile(root *os.Root, name string, data []byte, mayReplace func(there fs.FileInfo) error) (replaced bool, err error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	dir, err := openOnlyDir(root, filepath.Dir(name)) // what is checked is what is written to
	if err != nil {
		return false, err
	}
	defer func() { _ = dir.Close() }() // what was written is closed by itself
	w := &fileWrite{dir: dir, name: filepath.Base(name), mayReplace: mayReplace}
	there, err := w.replaceable()
	if err != nil {
		return false, err
	}
	return w.put(data, there)
}

// fileWrite is how one file gets its name in a directory.
type fileWrite struct {
	dir        *os.Root
	name       string
	mayReplace func(fs.FileInfo) error
}

// replaceable returns the file of that name, which may be replaced, or nil if there is
// none.
func (w *fileWrite) replaceable() (fs.FileInfo, error) {
	info, err := w.dir.Lstat(w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	return info, w.mayReplace(info)
}

// put writes a file beside the one of that name, and gives it the name, in place of what
// is there. What has come there meanwhile is replaced only if it is replaceable, too.
func (w *fileWrite) put(data []byte, there fs.FileInfo) (replaced bool, err error) {
	mode := fs.FileMode(0o644)
	if there != nil {
		mode = there.Mode().Perm()
	}
	beside := ".upload-" + rand.Text()
	defer func() { _ = w.dir.Remove(beside) }() // it is not there any more if it was renamed
	if err := w.writeNew(beside, data, mode); err != nil {
		return false, err
	}
	if there == nil && w.dir.Link(beside, w.name) == nil { // which replaces nothing
		return false, nil
	}
	// Something is there, or the file system has no links.
	if there, err = w.replaceable(); err != nil {
		return false, err
	}
	return there != nil, w.dir.Rename(beside, w.name)
}

// writeNew writes a file that is not there yet. Its mode is set by its descriptor: code may
// put another file in its place meanwhile.
func (w *fileWrite) writeNew(name string, data []byte, mode fs.FileMode) error {
	file, err := w.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close())
}
