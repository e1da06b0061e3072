package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// archive is one that is being unpacked.
type archive struct {
	*preparation
	label  string // as errors call it: its path; for one in another "outer.zip: inner.zip"
	format format
	file   *readings
	depth  int // 1 for one that is in no other
	meter  *outermost
	into   *os.Root
}

// member is one entry of an archive.
type member struct {
	name     string
	mode     fs.FileMode
	modified time.Time
	link     string // what a symbolic link says
	other    string // the file of which it is another name
	open     func() (io.ReadCloser, error)
}

// unpackFile unpacks the archive at a path of the system, which is called to from then on.
func (p *preparation) unpackFile(from, to string, format format) error {
	p.name.Store(&to)
	file, info, err := openSource(from)
	if err != nil {
		return err
	}
	defer file.Close()
	read := &readings{ctx: p.ctx, file: file, size: info.Size(), progress: p}
	a := &archive{
		preparation: p, label: from, format: format, file: read, depth: 1,
		meter: &outermost{meter: p.meter, size: info.Size()},
	}
	if err := a.unpack(to); err != nil {
		p.done.Add(-read.counted)
		return fmt.Errorf("%s: %w", from, err)
	}
	p.done.Add(info.Size() - read.counted)
	return nil
}

// unpack unpacks it beside input/, and gives it its name when all of it is there.
func (a *archive) unpack(to string) (err error) {
	a.scratch++
	aside := strconv.Itoa(a.scratch)
	if err := a.root.Mkdir(aside, 0o700); err != nil {
		return err
	}
	before := a.made
	defer func() {
		if err == nil {
			return
		}
		if !a.stops(err) { // else all goes
			a.made = before
			err = errors.Join(err, a.root.RemoveAll(aside))
		}
		err = cmp.Or(a.ctx.Err(), inWords(err, a.format))
	}()
	if a.into, err = a.root.OpenRoot(aside); err != nil {
		return err
	}
	if err = errors.Join(a.extract(), a.into.Close()); err != nil {
		return err
	}
	inside, err := a.collapse(aside, path.Base(to))
	if err == nil {
		err = a.settle(inside)
	}
	if err != nil {
		return err
	}
	if _, err := a.root.Lstat(to); err == nil { // by another case of letters, where that is the same
		return fmt.Errorf("there is a %s already", path.Base(to))
	}
	if err := a.root.Rename(inside, to); err != nil {
		return err
	}
	if err := a.root.RemoveAll(aside); err != nil { // what it was in
		return err
	}
	if info, err := a.root.Lstat(to); err != nil || !info.Mode().IsRegular() || !formatOf(path.Base(to)).unpacked() {
		return err
	}
	return a.inner(to, path.Base(to)) // as in data.zip.zip
}

func (a *archive) extract() error {
	switch {
	case a.file.size == 0:
		return errors.New("it is empty")
	case a.format.kind == kindZip:
		return a.zip()
	}
	return a.tar()
}

// collapse leaves out a directory that only holds one of its own name, or one
// file: train.csv.zip becomes train.csv.
func (a *archive) collapse(aside, name string) (inside string, err error) {
	dir, err := a.root.Open(aside)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(2)
	if len(entries) == 1 && entries[0].Name() == name && entries[0].Type()&fs.ModeSymlink == 0 {
		return path.Join(aside, name), nil
	}
	if errors.Is(err, io.EOF) { // there are none
		err = nil
	}
	return aside, err
}

// settle removes links that lead out of what was unpacked, or nowhere, and unpacks the
// archives in it. One look at each link is enough: a link on the way of another that
// resolves, resolves as well.
func (a *archive) settle(inside string) error {
	if info, err := a.root.Lstat(inside); err != nil || !info.IsDir() {
		return err
	}
	root, err := a.root.OpenRoot(inside)
	if err != nil {
		return err
	}
	err = below(root, ".", func(name string, entry fs.DirEntry) error {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			if _, err := root.Stat(name); err != nil {
				a.note("%s: %q is a link to what is not in the archive, and was left out", a.label, clip(name))
				a.made.Files--
				return root.Remove(name)
			}
		case entry.Type().IsRegular() && formatOf(entry.Name()).unpacked():
			return a.inner(path.Join(inside, name), name)
		}
		return nil
	})
	return errors.Join(err, root.Close())
}

// below visits what is below a directory, each directory before what is in it. Unlike
// fs.WalkDir it takes names that are no UTF-8.
func below(root *os.Root, dir string, visit func(name string, entry fs.DirEntry) error) error {
	opened, err := root.Open(dir)
	if err != nil {
		return err
	}
	entries, err := opened.ReadDir(-1)
	if err = errors.Join(err, opened.Close()); err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		err := visit(name, entry)
		if err == nil && entry.IsDir() {
			err = below(root, name, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inner unpacks an archive that was in this one, and removes it. One that can't be read
// stays as it is, and so does one that is too deep.
func (a *archive) inner(at, name string) error {
	label, format := a.label+": "+clip(name), formatOf(path.Base(at))
	to := path.Join(path.Dir(at), format.stem)
	if a.depth >= a.meter.limits.Depth {
		a.note("%s stays as it is: it is %d archives deep", label, a.depth+1)
		return nil
	}
	if _, err := a.root.Lstat(to); err == nil {
		a.note("%s stays as it is: there is a %s already", label, format.stem)
		return nil
	}
	file, err := a.root.Open(at)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	err = (&archive{
		preparation: a.preparation, label: label, format: format, depth: a.depth + 1, meter: a.meter,
		file: &readings{ctx: a.ctx, file: file, size: info.Size()},
	}).unpack(to)
	switch {
	case err == nil:
		a.made.Files--
		a.made.Bytes -= info.Size()
		return a.root.Remove(at)
	case a.stops(err):
		return fmt.Errorf("%s: %w", clip(name), err)
	}
	a.note("%s: %v; it stays as it is", label, err)
	return nil
}

// add makes of an entry what it is.
func (a *archive) add(m member) error {
	if err := errors.Join(a.ctx.Err(), a.meter.entry()); err != nil {
		return err
	}
	name, err := entryName(m.name)
	if err == nil && !hasLitter(name) {
		err = a.make(name, m)
	}
	if err != nil {
		return fmt.Errorf("entry %q: %w", clip(m.name), inWords(err, a.format))
	}
	return nil
}

func (a *archive) make(name string, m member) error {
	if m.mode.IsDir() || strings.HasSuffix(m.name, "/") {
		return a.mkdirs(name)
	}
	if name == "." {
		return errors.New("it has no name")
	}
	if err := a.mkdirs(path.Dir(name)); err != nil {
		return err
	}
	switch {
	case m.other != "":
		return a.hardLink(name, m.other)
	case m.mode&fs.ModeSymlink != 0:
		return a.symlink(name, m.link)
	case !m.mode.IsRegular():
		a.note("%s: %q is %s and was left out", a.label, clip(name), kindOf(m.mode))
		return nil
	}
	return a.write(name, m)
}

// mkdirs makes a directory and those that it is in. Each counts as an entry: names
// of a few bytes imply thousands of them.
func (a *archive) mkdirs(name string) error {
	if name == "." {
		return nil
	}
	err := a.into.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := a.mkdirs(path.Dir(name)); err != nil {
			return err
		}
		err = a.into.Mkdir(name, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, err := a.into.Stat(name); err != nil || !info.IsDir() {
			return syscall.ENOTDIR
		}
		return nil
	}
	if err != nil {
		return err
	}
	return a.meter.entry()
}

// write writes the content of an entry, as far as the limits allow.
func (a *archive) write(name string, m member) error {
	content, err := m.open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it is only read
	file, err := a.into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, &metered{content, func(n int64) error { return errors.Join(a.ctx.Err(), a.meter.take(n)) }})
	if err = errors.Join(err, file.Chmod(lent(m.mode|0o400)), file.Close()); err != nil {
		return err
	}
	if y := m.modified.Year(); y >= 1970 && y < 2200 { // others are made up
		_ = a.into.Chtimes(name, m.modified, m.modified) // no data is lost with it
	}
	a.made.Files++
	a.made.Bytes += n
	return nil
}

// symlink makes a link. One that the system doesn't make is left out.
func (a *archive) symlink(name, target string) error {
	err := a.into.Symlink(target, name)
	switch {
	case err == nil:
		a.made.Files++
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTDIR), a.stops(err):
		return err
	default:
		a.note("%s: %q is a link that can't be made (%v), and was left out", a.label, clip(name), errors.Unwrap(err))
	}
	return nil
}

// hardLink gives a file that was unpacked a second name.
func (a *archive) hardLink(name, target string) error {
	old, err := entryName(target)
	if err == nil {
		var info fs.FileInfo
		if info, err = a.into.Lstat(old); err == nil && info.Mode().IsRegular() {
			a.made.Files++
			return a.into.Link(old, name)
		}
	}
	a.note("%s: %q is a link to a file that is not in the archive, and was left out", a.label, clip(name))
	return nil
}

const (
	longestName = 4096 // bytes of the name of an entry
	deepest     = 100  // directories of archives that people have are ten deep
)

// entryName is where an entry of an archive belongs, with slashes; "." for the
// archive's own directory. Names that lead out of it are refused.
func entryName(raw string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(raw, "/"), "/")
	switch {
	case raw == "":
		return "", errors.New("it has no name")
	case strings.ContainsRune(raw, 0):
		return "", errors.New("its name holds a NUL")
	case path.IsAbs(raw) || len(raw) > 2 && raw[1] == ':' && (raw[2] == '/' || raw[2] == '\\'):
		return "", errors.New("its name begins at the root of the file system")
	case slices.Contains(parts, "..") || !filepath.IsLocal(filepath.FromSlash(path.Clean(raw))):
		return "", errors.New("its name leads out of the archive")
	case len(raw) > longestName || len(parts) > deepest:
		return "", fmt.Errorf("its name is longer than %d bytes, or more than %d directories deep", longestName, deepest)
	}
	return path.Clean(raw), nil
}

// clip keeps a name that an archive chose from filling a message.
func clip(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return name[:most] + "…"
}
