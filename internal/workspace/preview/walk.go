package preview

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
)

const (
	mostEntries = 100_000 // of the whole tree
	mostDepth   = 12      // directories below one another
)

// entry is a file, or what can't be read as one.
type entry struct {
	name, path string
	size       int64
	modified   int64  // nanoseconds since 1970
	note       string // what is wrong with it
}

// folder is a directory.
type folder struct {
	name, path string
	files      []*entry
	folders    []*folder
	count      int   // of the files in it and below
	bytes      int64 // of the same
	unlisted   bool  // there is more in it, or below, than was looked at
	note       string

	info fs.FileInfo
	up   *folder
}

// walker goes through a directory.
type walker struct {
	ctx   context.Context
	place *place
	left  int // entries
}

// walk finds what is in the place. It fails only if the place itself can't be
// listed.
func walk(ctx context.Context, p *place) (*folder, error) {
	w := &walker{ctx: ctx, place: p, left: mostEntries}
	top := &folder{path: "."}
	w.fill(top, 0)
	if top.note != "" {
		return nil, errors.New(top.note)
	}
	return top, nil
}

func (w *walker) fill(f *folder, depth int) {
	if depth > mostDepth || w.ctx.Err() != nil {
		f.unlisted = true
		return
	}
	names, err := w.list(f)
	if err != nil {
		f.note = inWords(err)
		return
	}
	if f.isAbove() {
		f.note = "link to a directory above it"
		return
	}
	for i, name := range names {
		if i%256 == 0 && w.ctx.Err() != nil {
			f.unlisted = true
			break
		}
		w.add(f, name, depth)
	}
	for _, below := range f.folders {
		f.count += below.count
		f.bytes += below.bytes
		f.unlisted = f.unlisted || below.unlisted
	}
}

// list returns the names in a directory, sorted as people would.
func (w *walker) list(f *folder) ([]string, error) {
	dir, err := w.place.open(f.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if f.info, err = dir.Stat(); err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(w.left + 1)
	if len(names) > w.left {
		names, f.unlisted = names[:w.left], true
	}
	w.left -= len(names)
	sort.Slice(names, func(i, j int) bool { return naturally(names[i], names[j]) })
	if len(names) > 0 {
		err = nil
	}
	if err != nil && err.Error() == "EOF" {
		err = nil
	}
	return names, err
}

// isAbove reports whether the folder is one of those that it is in.
func (f *folder) isAbove() bool {
	for up := f.up; up != nil; up = up.up {
		if up.info != nil && os.SameFile(up.info, f.info) {
			return true
		}
	}
	return false
}

func (w *walker) add(f *folder, name string, depth int) {
	e := &entry{name: name, path: path.Join(f.path, name)}
	info, err := w.place.root.Lstat(e.path)
	if f.path != "." && err != nil { // below a link that leads to one of the roots
		info, err = w.place.stat(e.path)
	}
	linked := false
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		linked = true
		info, err = w.place.stat(e.path)
	}
	if err == nil && info.IsDir() && linked && w.place.own(e.path) {
		err = errSeenElsewhere
	}
	switch {
	case err != nil:
		e.note = inWords(err)
		if linked && errors.Is(err, fs.ErrNotExist) {
			e.note = "link to nothing"
		}
	case info.IsDir():
		below := &folder{name: name, path: e.path, up: f}
		w.fill(below, depth+1)
		f.folders = append(f.folders, below)
		return
	case !info.Mode().IsRegular():
		e.note = errNoFile.Error()
	default:
		e.size, e.modified = info.Size(), info.ModTime().UnixNano()
	}
	f.files = append(f.files, e)
	f.count++
	f.bytes += e.size
}

// errSeenElsewhere is said of a link to a directory that is listed itself.
var errSeenElsewhere = errors.New("link to a directory of this tree")

// inWords says in a few words what is wrong with a file. Paths of this machine
// are left out.
func inWords(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "can't be read: permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "gone while it was looked at"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return clean(err.Error(), 160)
}

// naturally orders names so that part-2 comes before part-10.
func naturally(a, b string) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if !isDigit(a[i]) || !isDigit(b[j]) {
			if a[i] != b[j] {
				return a[i] < b[j]
			}
			i, j = i+1, j+1
			continue
		}
		m, n := digits(a, i), digits(b, j)
		first, second := strings.TrimLeft(a[i:m], "0"), strings.TrimLeft(b[j:n], "0")
		if len(first) != len(second) {
			return len(first) < len(second)
		}
		if first != second {
			return first < second
		}
		i, j = m, n
	}
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits returns where the digits end that begin at i.
func digits(text string, i int) int {
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i
}
