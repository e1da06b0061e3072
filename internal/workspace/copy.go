package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// copyStep is how many bytes of a file are copied between two looks at the context.
const copyStep = 16 << 20

// copying copies what is below one source.
type copying struct {
	*preparation
	base string // the source, without links
	out  int    // how deep it is in directories out of the source that links led to
}

// outsideEntry counts what is copied since a link led there: a whole disk, perhaps.
func (c *copying) outsideEntry() error {
	if c.out == 0 {
		return nil
	}
	if c.found++; c.found > c.options.Limits.Entries {
		return &limitError{fmt.Sprintf("data: links in %s lead to more than %d files out of it; remove those links, or give the data without them", c.base, c.options.Limits.Entries)}
	}
	return nil
}

// linkedDirectory copies a directory out of the source that a link leads to. Where one
// leads there again, it is a link to the copy: many would make a copy each.
func (c *copying) linkedDirectory(from, target, to string, info fs.FileInfo, above []fs.FileInfo) error {
	if within(target, c.base) {
		c.note("%s is a link to %s, which the data is in, and was left out", from, target)
		return nil
	}
	round := slices.ContainsFunc(above, func(other fs.FileInfo) bool { return os.SameFile(info, other) })
	if first, again := c.linked[target]; again && !round {
		return c.linkTo(from, first, to)
	}
	if !round {
		c.linked[target] = to
		c.note("%s is a link out of the data: the directory %s was copied", from, target)
	}
	c.out++
	defer func() { c.out-- }()
	return c.directory(target, to, info, above)
}

// linkTo makes a link of one name in input/ to another.
func (c *copying) linkTo(from, target, to string) error {
	back, err := filepath.Rel(filepath.Dir(to), target)
	if err == nil {
		err = c.root.Symlink(back, to)
	}
	if err != nil {
		return copyError(from, err)
	}
	return nil
}

// place copies what is at the path from, in the system, to the name to in input/.
// above are the directories that from is in, so that no link leads round.
func (c *copying) place(from, to string, above []fs.FileInfo) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := c.outsideEntry(); err != nil {
		return err
	}
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) { // it went while its directory was copied
		c.note("%s went away while it was copied", from)
		return nil
	}
	if err != nil {
		return copyError(from, err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return c.link(from, to, above)
	case info.IsDir():
		return c.directory(from, to, info, above)
	case info.Mode().IsRegular():
		return c.fileOrArchive(from, to)
	}
	c.note("%s is %s and was left out", from, kindOf(info.Mode()))
	return nil
}

func copyError(from string, err error) error { return fmt.Errorf("data: copying %s: %w", from, err) }

func (c *copying) directory(from, to string, info fs.FileInfo, above []fs.FileInfo) error {
	if slices.ContainsFunc(above, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
		c.note("%s leads round in a circle, or into the workspace, and was left out", from)
		return nil
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return copyError(from, err)
	}
	if err := c.root.Mkdir(to, 0o700); err != nil {
		return copyError(from, err)
	}
	above = append(slices.Clip(above), info)
	// In the order of their names, so that what an archive would unpack to comes
	// before the archive.
	for _, entry := range entries {
		name := entry.Name()
		if isLitter(name) {
			continue
		}
		if err := c.place(filepath.Join(from, name), path.Join(to, name), above); err != nil {
			return err
		}
	}
	return c.dress(to, info.Mode()|0o700, info.ModTime())
}

// link copies a link that stays in the source as a link, and anything else as
// what it points at.
func (c *copying) link(from, to string, above []fs.FileInfo) error {
	target, err := filepath.EvalSymlinks(from)
	if err != nil {
		c.note("%s is a link that leads nowhere and was left out", from)
		return nil
	}
	info, err := os.Stat(target)
	if err != nil {
		return copyError(from, err)
	}
	if local, err := filepath.Rel(c.base, target); err == nil && filepath.IsLocal(local) && c.copied(local, info) {
		return c.linkTo(from, local, to)
	}
	switch {
	case info.IsDir():
		return c.linkedDirectory(from, target, to, info, above)
	case info.Mode().IsRegular():
		c.note("%s is a link to %s, which was copied", from, target)
		return c.fileOrArchive(target, to)
	}
	c.note("%s is a link to %s and was left out", from, kindOf(info.Mode()))
	return nil
}

// copied reports whether what is at local in the source is there in the copy too.
func (c *copying) copied(local string, info fs.FileInfo) bool {
	return !hasLitter(local) && (info.IsDir() || info.Mode().IsRegular() && formatOf(local).kind == "")
}

// fileOrArchive copies a file, or what is in it. An archive that can't be read
// stays as it is.
func (c *copying) fileOrArchive(from, to string) error {
	format := formatOf(path.Base(to))
	if format.kind == kindOther {
		c.note("%s stays as it is: only zip, tar, tar.gz and tar.bz2 are unpacked", from)
	}
	if !format.unpacked() {
		return c.file(from, to)
	}
	dest := path.Join(path.Dir(to), format.stem)
	if _, err := c.root.Lstat(dest); err == nil {
		c.note("%s stays as it is: there is a %s already", from, format.stem)
		return c.file(from, to)
	}
	err := c.unpackFile(from, from, dest, format)
	if err == nil || fatal(err) {
		return err
	}
	c.note("%v; it stays as it is", err)
	return c.file(from, to)
}

// openSource opens a file of the data, without blocking: it may have become a pipe.
func openSource(from string) (*os.File, fs.FileInfo, error) {
	source, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, copyError(from, err)
	}
	info, err := source.Stat()
	if err != nil {
		return nil, nil, errors.Join(copyError(from, err), source.Close())
	}
	return source, info, nil
}

// file copies one file.
func (p *preparation) file(from, to string) error {
	p.name.Store(&to)
	source, info, err := openSource(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if !info.Mode().IsRegular() {
		p.note("%s became %s and was left out", from, kindOf(info.Mode()))
		return nil
	}
	target, err := p.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return copyError(from, err)
	}
	err = p.copyBytes(target, source, info.Size())
	if err = errors.Join(err, target.Close()); err != nil {
		return copyError(from, err)
	}
	p.made.Files++
	return p.dress(to, info.Mode()|0o400, info.ModTime())
}

// copyBytes copies size bytes, and no more if the file grows meanwhile. Between
// two files io.CopyN has the kernel do it.
func (p *preparation) copyBytes(target, source *os.File, size int64) error {
	for left := size; left > 0; {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		step := min(left, copyStep)
		if err := p.meter.wrote(step); err != nil {
			return err
		}
		n, err := io.CopyN(target, source, step)
		p.made.Bytes += n
		p.done.Add(n)
		if errors.Is(err, io.EOF) {
			p.note("%s was cut while it was copied", source.Name())
			return nil
		}
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// dress gives a copy the times and the mode that it had, without what lets others
// write and without setuid.
func (p *preparation) dress(name string, mode fs.FileMode, modified time.Time) error {
	if err := p.root.Chtimes(name, modified, modified); err != nil {
		return err
	}
	return p.root.Chmod(name, mode.Perm()&^0o022)
}
