package preview

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place opens what is in a directory, and what links in it lead to where that is
// allowed.
type place struct {
	root  *os.Root
	dir   string
	roots []string // real paths of files and directories
}

// errLeadsOut is said of a link.
var errLeadsOut = errors.New("link that leads elsewhere, not followed")

// ErrReplaced says that code has put something else in the place of the directory.
var ErrReplaced = errors.New("it is no directory any more, as code has put something else in its place")

// errNoFile is said of devices, sockets and named pipes.
var errNoFile = errors.New("not a regular file")

// openPlace opens the directory itself and no link in its place: code may write to what
// it is in, and put there what it wants to have read. What that is in is the operator's.
func openPlace(dir string, roots []string) (*place, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	above, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return nil, err
	}
	root, err := openDirectory(above, filepath.Base(absolute))
	if err != nil {
		return nil, err
	}
	itself := filepath.Join(above, filepath.Base(absolute))
	// Its own path is among them for links that are absolute.
	p := &place{root: root, dir: itself, roots: []string{itself}}
	for _, path := range roots {
		absolute, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if target, err := filepath.EvalSymlinks(absolute); err == nil {
			p.roots = append(p.roots, target)
		}
	}
	return p, nil
}

// openDirectory opens what has that name in above if it is a directory.
func openDirectory(above, name string) (*os.Root, error) {
	parent, err := os.OpenRoot(above)
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }() // nothing is written by way of it
	there, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !there.IsDir() {
		return nil, ErrReplaced
	}
	// With the dot it is opened as a directory only, should it have become a pipe.
	root, err := parent.OpenRoot(name + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(there, opened) {
		_ = root.Close() // it was not even read
		return nil, ErrReplaced
	}
	return root, nil
}

func (p *place) close() { _ = p.root.Close() }

// open opens a file or a directory below the place. Nothing waits here, as the
// opening of a named pipe would.
func (p *place) open(name string) (*os.File, error) {
	f, err := p.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		return f, nil
	}
	root, rest, elsewhere := p.elsewhere(name)
	if elsewhere != nil {
		if errors.Is(elsewhere, errLeadsOut) {
			return nil, elsewhere
		}
		return nil, err
	}
	// Through an os.Root again: between the look and the opening a link may have
	// changed.
	if root == p.dir { // which may have been replaced too
		return p.root.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	other, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = other.Close() }()
	return other.OpenFile(rest, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// elsewhere finds the directory that a path through links ends in, and the rest
// of the path below it.
func (p *place) elsewhere(name string) (root, rest string, err error) {
	absolute, err := filepath.Abs(filepath.Join(p.dir, filepath.FromSlash(name)))
	if err != nil {
		return "", "", err
	}
	target, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return "", "", err
	}
	for _, root := range p.roots {
		if target == p.dir {
			return target, ".", nil
		}
		if target == root {
			return filepath.Dir(target), filepath.Base(target), nil
		}
		if strings.HasPrefix(target, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator)) {
			rest, err := filepath.Rel(root, target)
			return root, rest, err
		}
	}
	return "", "", errLeadsOut
}

// own reports whether a path, links followed, is below the directory itself.
func (p *place) own(name string) bool {
	root, rest, err := p.elsewhere(name)
	return err == nil && root == p.dir && rest != "."
}

// stat follows links as open does.
func (p *place) stat(name string) (fs.FileInfo, error) {
	info, err := p.root.Stat(filepath.FromSlash(name))
	if err == nil {
		return info, nil
	}
	root, rest, elsewhere := p.elsewhere(name)
	if errors.Is(elsewhere, errLeadsOut) {
		return nil, elsewhere
	}
	if elsewhere != nil {
		return nil, err
	}
	if root == p.dir {
		return p.root.Lstat(rest)
	}
	return os.Lstat(filepath.Join(root, rest))
}

// openRegular opens a file that can be read at any place.
func (p *place) openRegular(name string) (*os.File, fs.FileInfo, error) {
	info, err := p.stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := p.open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}
