package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// archiveError says what is wrong with an archive, and with which entry of it.
type archiveError struct {
	archive string // its path; for one in another: "outer.zip: inner.zip"
	entry   string // "" for the archive as a whole
	err     error
}

func (e *archiveError) Error() string {
	if e.entry == "" {
		return fmt.Sprintf("%s: %v", e.archive, e.err)
	}
	return fmt.Sprintf("%s: entry %q: %v", e.archive, clip(e.entry), e.err)
}

func (e *archiveError) Unwrap() error { return e.err }

// clip keeps a name that an archive chose from filling a message.
func clip(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return name[:most] + "…"
}

// unpacking is one archive that is being unpacked.
type unpacking struct {
	*preparation
	archive string // as errors call it
	format  format
	file    *readings
	size    int64
	dest    string // where to, in input/
	depth   int    // 1 for one that is in no other
	meter   *outermost

	into   *os.Root // dest
	parent string   // the directory that was made last
	links  []link
	inner  []string // archives in it, below dest
}

// unpackFile unpacks the archive at a path of the system into the directory dest,
// which must not be there. After an error nothing is left of it.
func (p *preparation) unpackFile(from, label, dest string, format format) error {
	file, info, err := openSource(from)
	if err != nil {
		return err
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return &archiveError{archive: label, err: fmt.Errorf("it is %s", kindOf(info.Mode()))}
	}
	counted := &readings{ctx: p.ctx, file: file, size: info.Size(), progress: p}
	u := &unpacking{
		preparation: p, archive: label, format: format, dest: dest, depth: 1,
		file: counted, size: info.Size(), meter: &outermost{meter: p.meter, size: info.Size()},
	}
	if err := u.run(); err != nil {
		p.done.Add(-counted.counted)
		return err
	}
	p.done.Add(info.Size() - counted.counted)
	return nil
}

// run unpacks the archive, then those in it.
func (u *unpacking) run() error {
	p := u.preparation
	p.name.Store(&u.dest)
	files, bytes, notes, more := p.made.Files, p.made.Bytes, len(p.made.Notes), p.made.More
	err := u.unpack()
	if err == nil {
		return nil
	}
	p.made.Files, p.made.Bytes, p.made.Notes, p.made.More = files, bytes, p.made.Notes[:notes], more
	if stopped := u.ctx.Err(); stopped != nil {
		err = stopped // whatever the readers made of it
	}
	var known *archiveError
	if !errors.As(err, &known) {
		err = &archiveError{archive: u.archive, err: err}
	}
	if fatal(err) { // all of input.partial goes
		return err
	}
	return errors.Join(err, removeTree(p.ctx, p.root, u.dest))
}

func (u *unpacking) unpack() error {
	if err := u.root.Mkdir(u.dest, 0o700); err != nil {
		return plain(err)
	}
	into, err := u.root.OpenRoot(u.dest)
	if err != nil {
		return err
	}
	u.into = into
	err = u.extract()
	if err = errors.Join(err, into.Close()); err != nil {
		return err
	}
	inside, err := u.collapse()
	if err != nil {
		return err
	}
	if err := u.makeLinks(inside); err != nil {
		return err
	}
	return u.unpackInner(inside)
}

func (u *unpacking) extract() error {
	if u.size == 0 {
		return errors.New("it is empty")
	}
	if u.format.kind == kindZip {
		return u.zip()
	}
	return u.tar()
}

// collapse takes away a directory that only holds one of its own name, or one
// file: train.csv.zip becomes train.csv. It returns the name that is gone from
// the beginning of all names, "" if none is.
func (u *unpacking) collapse() (gone string, err error) {
	name := path.Base(u.dest)
	entries, err := u.first(2)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 || entries[0].Name() != name {
		return "", nil
	}
	for _, link := range u.links {
		if first, _ := cut(link.name); first != name {
			return "", nil
		}
	}
	aside, err := u.aside()
	if err != nil {
		return "", err
	}
	return name, errors.Join(
		u.root.Rename(path.Join(u.dest, name), aside),
		u.root.Remove(u.dest),
		u.root.Rename(aside, u.dest))
}

// first lists at most n entries of dest.
func (u *unpacking) first(n int) ([]fs.DirEntry, error) {
	dir, err := u.root.Open(u.dest)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(n)
	if errors.Is(err, io.EOF) { // there are none
		err = nil
	}
	return entries, err
}

// aside is a name beside dest that nothing has.
func (u *unpacking) aside() (string, error) {
	for i := range 1000 {
		name := path.Join(path.Dir(u.dest), fmt.Sprintf(".unpacking-%d", i))
		if _, err := u.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", errors.New("there is no name left to unpack it under")
}

// below is where an entry is once collapse has taken a name from its beginning.
func (u *unpacking) below(gone, name string) string {
	if gone != "" {
		_, name = cut(name)
	}
	return path.Join(u.dest, name)
}

// unpackInner unpacks the archives that were in this one. Those that can't be
// read stay as they are, and so do those that are too deep.
func (u *unpacking) unpackInner(gone string) error {
	for _, inner := range u.inner {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		name := u.below(gone, inner)
		format := formatOf(path.Base(name))
		dest := path.Join(path.Dir(name), format.stem)
		label := u.archive + ": " + clip(inner)
		if u.depth >= u.meter.limits.Depth {
			u.note("%s stays as it is: it is %d archives deep", label, u.depth+1)
			continue
		}
		if _, err := u.root.Lstat(dest); err == nil {
			u.note("%s stays as it is: there is a %s already", label, format.stem)
			continue
		}
		err := u.unpackOne(name, label, dest, format)
		if fatal(err) {
			return err
		}
		if err != nil {
			u.note("%v; it stays as it is", err)
		}
	}
	return nil
}

// unpackOne unpacks an archive that was unpacked from this one, and removes it.
func (u *unpacking) unpackOne(name, label, dest string, format format) error {
	file, err := u.root.Open(name)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	inner := &unpacking{
		preparation: u.preparation, archive: label, format: format, dest: dest, depth: u.depth + 1,
		file: &readings{ctx: u.ctx, file: file, size: info.Size()}, size: info.Size(), meter: u.meter,
	}
	err = inner.run()
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	u.made.Files--
	u.made.Bytes -= info.Size()
	return u.root.Remove(name)
}

// directory makes a directory for an entry.
func (u *unpacking) directory(name string) error {
	if name == u.parent || name == "." {
		return nil
	}
	if err := u.mkdirs(u.into, name); err != nil {
		return plainDirectory(err)
	}
	u.parent = name
	return nil
}

// mkdirs makes a directory and those that it is in. Each counts as an entry: names
// of a few bytes imply thousands of them.
func (u *unpacking) mkdirs(into *os.Root, name string) error {
	err := into.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := u.mkdirs(into, path.Dir(name)); err != nil {
			return err
		}
		err = into.Mkdir(name, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, no := into.Lstat(name); no == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return u.meter.entry()
}

// put writes what content has to a file for an entry.
func (u *unpacking) put(name string, mode fs.FileMode, modified time.Time, content io.Reader) error {
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	file, err := u.into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return plain(err)
	}
	err = u.pour(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if modified.Year() >= 1970 && modified.Year() < 2200 { // others are made up
		_ = u.into.Chtimes(name, modified, modified) // no data is lost with it
	}
	u.made.Files++
	if formatOf(path.Base(name)).unpacked() {
		if err := u.meter.hold(name); err != nil {
			return err
		}
		u.inner = append(u.inner, strings.Clone(name))
	}
	return u.into.Chmod(name, (mode.Perm()|0o400)&^0o022)
}

// pour copies content as far as the limits allow. A byte is counted before it is
// written.
func (u *unpacking) pour(file *os.File, content io.Reader) error {
	for {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		n, err := content.Read(u.buffer)
		if over := u.meter.take(int64(n)); over != nil {
			return over
		}
		if _, err := file.Write(u.buffer[:n]); err != nil {
			return err
		}
		u.made.Bytes += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return plain(err)
		}
	}
}

var errTwice = errors.New("the archive has two entries of this name")

// plain says in words what the errors of a file system and of a reader mean for
// an archive.
func plain(err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return errTwice
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the archive is cut off or damaged here")
	}
	return err
}

// plainDirectory is plain for the making of directories.
func plainDirectory(err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return errors.New("what is a directory in its name is something else in the archive")
	}
	return plain(err)
}

// readings is the file of an archive. What is read of it counts as done, and it
// can't be read any more once the context has ended.
type readings struct {
	ctx      context.Context
	file     *os.File
	size     int64
	progress *preparation // nil: it is no source
	counted  int64
	// budget, if it is not 0, is how many bytes may be read yet.
	budget int64
}

var errBudget = errors.New("its list of entries is too long")

// ReadAt reads as os.File does.
func (r *readings) ReadAt(into []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.budget > 0 {
		if r.budget -= int64(len(into)); r.budget <= 0 {
			r.budget = 1 // spent, and not without limit
			return 0, errBudget
		}
	}
	n, err := r.file.ReadAt(into, at)
	if r.progress != nil {
		step := min(int64(n), r.size-r.counted)
		r.counted += step
		r.progress.done.Add(step)
	}
	return n, err
}

// stream reads it from its beginning.
func (r *readings) stream() io.Reader { return io.NewSectionReader(r, 0, r.size) }

// cut splits the first directory from a name.
func cut(name string) (first, rest string) {
	for i := range len(name) {
		if name[i] == '/' {
			return name[:i], name[i+1:]
		}
	}
	return name, ""
}

// system turns the name of an entry into one of the system.
func system(name string) string { return filepath.FromSlash(name) }
