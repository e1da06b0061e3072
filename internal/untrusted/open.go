package untrusted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenDir opens a directory of that name in parent, and no link.
func OpenDir(parent *os.Root, name string) (*os.Root, error) {
	there, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !there.IsDir() {
		return nil, fmt.Errorf("it is no directory any more (%s)", there.Mode().Type())
	}
	dir, err := openOnlyDir(parent, name)
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(there, opened) {
		_ = dir.Close() // it was not even read
		return nil, fmt.Errorf("it was replaced while it was opened; try again")
	}
	return dir, nil
}

// openOnlyDir opens what has that name below root, or what a link there leads to, if that
// is a directory. The dot sees to it: to open a pipe could wait for ever.
func openOnlyDir(root *os.Root, name string) (*os.Root, error) {
	return root.OpenRoot(name + string(filepath.Separator) + ".")
}

// OpenParent opens the directory that dir is in, and returns dir's name there; or,
// where that can't be, dir itself. No code may have changed the path so far: links on it
// are followed.
func OpenParent(dir string) (parent *os.Root, name string, err error) {
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, "", err
	}
	if above := filepath.Dir(dir); above != dir {
		if root, err := os.OpenRoot(above); err == nil {
			return root, filepath.Base(dir), nil
		}
	}
	root, err := os.OpenRoot(dir)
	return root, ".", err
}

// IsGone reports whether the directory that was opened by a path is no longer there: the
// path leads nowhere, or to a directory that was made since. A link counts for neither.
func IsGone(opened *os.Root, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	was, err := opened.Stat(".")
	return err == nil && there.IsDir() && !os.SameFile(there, was)
}

// User is another one than the server's, as whom code runs: what is done for it in
// directories that it has filled is done as that user, where the server, as root, could do
// more. What is made belongs to that user then. nil is where the two are the same.
type User struct{ uid, gid int }

// OwnerOf returns the user to whom a file belongs.
func OwnerOf(info fs.FileInfo) *User {
	uid, gid := idsOf(info)
	return &User{uid, gid}
}

// ErrImpersonate says that this process may not act as another user.
var ErrImpersonate = errors.New("the server can't open files as the interpreter's user; it lacks the capabilities SETUID and SETGID")

// Reclaim makes a directory the server's user's alone. What is not there is no error.
func Reclaim(parent *os.Root, name string) error {
	if os.Geteuid() != 0 {
		return nil // it is
	}
	dir, err := OpenDir(parent, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Chown(".", 0, 0), dir.Chmod(".", 0o700), dir.Close())
}
