package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
)

// The names in a workspace.
const (
	InputName   = "input"   // the data
	WorkingName = "working" // what code writes, by custom
	ownName     = ".understudy"
	partialName = ownName + "/partial" // what is not prepared to its end
	// What earlier versions had for that, and the mark which says that it is theirs.
	earlierPartial = InputName + ".partial"
	earlierMark    = ownName + "/preparing"
)

// Options say what becomes of data.
type Options struct {
	// Dir is the absolute path of the workspace. It need not exist yet.
	Dir string
	// Link makes symbolic links where it would copy. Archives are unpacked all
	// the same.
	Link   bool
	Limits Limits // the zero value: UsualLimits
	// FoldCase refuses names that differ only in their case; it is always so on
	// macOS and Windows.
	FoldCase bool
}

// Plan is data that has been looked at and may go into a workspace. Prepare is
// called once; the other methods at any time.
type Plan struct {
	options Options
	sources []source

	done, total atomic.Int64
	name        atomic.Pointer[string]
}

// source is one path that the operator gave.
type source struct {
	given string
	path  string // absolute, without links
	info  fs.FileInfo
}

// NewPlan looks at the sources: whether they can be read, and whether all of them
// have room beside each other. The contents of a directory go into input/, a file
// under its own name, an archive into a directory of its name. Nothing is written.
func NewPlan(sources []string, options Options) (*Plan, error) {
	if options.Limits == (Limits{}) {
		options.Limits = UsualLimits
	}
	options.FoldCase = options.FoldCase || runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	p := &Plan{options: options}
	var problems []error
	for _, given := range sources {
		s, err := look(given)
		if err == nil {
			err = apart(s, options.Dir)
		}
		p.sources = append(p.sources, s)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if err := p.findClash(); err != nil {
		return nil, err
	}
	return p, p.checkEarlier()
}

// Dir is the absolute path of the workspace.
func (p *Plan) Dir() string { return p.options.Dir }

// Input is the absolute path of the directory with the data, which is there once
// Prepare has returned.
func (p *Plan) Input() string { return filepath.Join(p.options.Dir, InputName) }

// Sources are the paths that the data comes from, without links.
func (p *Plan) Sources() []string {
	var paths []string
	for _, s := range p.sources {
		paths = append(paths, s.path)
	}
	return paths
}

// Progress is how far a preparation is.
type Progress struct {
	// Done and Total are bytes of the sources; Total is 0 until they are counted.
	Done, Total int64
	// Name is what is being copied or unpacked, as it is called in input/.
	Name string
}

// Progress says how far Prepare is. It may be called while Prepare runs.
func (p *Plan) Progress() Progress {
	now := Progress{Done: p.done.Load(), Total: p.total.Load()}
	if name := p.name.Load(); name != nil {
		now.Name = strings.TrimPrefix(*name, InputName+"/")
	}
	return now
}

// look finds out what a source is, and whether it can be read.
func look(given string) (s source, err error) {
	s.given = given
	absolute, err := filepath.Abs(given)
	if err == nil {
		s.path, err = filepath.EvalSymlinks(absolute)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("data: %s does not exist", given)
	}
	if err == nil {
		s.info, err = os.Stat(s.path)
	}
	if err == nil && !s.info.IsDir() && !s.info.Mode().IsRegular() {
		return s, fmt.Errorf("data: %s is neither a file nor a directory (%s)", given, kindOf(s.info.Mode()))
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(s.path)
	}
	if err != nil {
		return s, fmt.Errorf("data: %s can't be read: %w", given, err)
	}
	return s, file.Close()
}

// apart refuses a source that the workspace is in, or that is in the workspace: it
// would be copied into itself.
func apart(s source, dir string) error {
	dir = resolve(dir)
	switch {
	case dir == s.path:
		return fmt.Errorf("data: %s is the workspace itself; choose another directory with --workspace", s.given)
	case s.info.IsDir() && within(s.path, dir):
		return fmt.Errorf("data: %s contains the workspace %s, which would be copied into itself; choose another directory with --workspace", s.given, dir)
	case within(dir, s.path):
		return fmt.Errorf("data: %s is in the workspace %s already; leave it out, or choose another directory with --workspace", s.given, dir)
	}
	return nil
}

// resolve follows the links in a path whose end may not exist yet.
func resolve(path string) string {
	followed, err := filepath.EvalSymlinks(path)
	parent := filepath.Dir(path)
	switch {
	case err == nil:
		return followed
	case parent == path:
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

// within reports whether path is below dir.
func within(dir, path string) bool {
	local, err := filepath.Rel(dir, path)
	return err == nil && local != "." && filepath.IsLocal(local)
}

// walk visits what a source puts into input/. above are directories that it must not lead
// into.
func (p *Plan) walk(ctx context.Context, s source, above []fs.FileInfo, visit func(found) error) error {
	if p.options.Link || !s.info.IsDir() {
		return s.entries(visit)
	}
	w := &walker{ctx: ctx, base: s.path, most: p.options.Limits.Entries, visit: visit}
	return w.directory(s.path, ".", append(above, s.info))
}

// entries visits a file, under the name that was given, should that be a link, or what a
// directory holds, without a look at what is in that.
func (s source) entries(visit func(found) error) error {
	w := &walker{visit: visit}
	if !s.info.IsDir() {
		return w.file(found{from: s.path, to: filepath.Base(s.given), info: s.info}, map[string]bool{})
	}
	names, taken, err := list(s.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		f := found{from: filepath.Join(s.path, name), to: name}
		if f.info, err = os.Stat(f.from); err == nil && f.info.Mode().IsRegular() {
			err = w.file(f, taken)
		} else {
			err = visit(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findClash refuses two entries of one name from two sources.
func (p *Plan) findClash() error {
	type entry struct{ from, name string }
	seen := map[string]entry{}
	for _, s := range p.sources {
		err := s.entries(func(f found) error {
			name := f.to
			if f.into != "" {
				name = f.into
			}
			key := name
			if p.options.FoldCase {
				key = strings.ToLower(key)
			}
			first, taken := seen[key]
			if seen[key] = (entry{f.from, name}); !taken {
				return nil
			}
			return clash(first.from, first.name, f.from, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func clash(from1, name1, from2, name2 string) error {
	if from1 == from2 {
		return fmt.Errorf("data: %s is given twice", from1)
	}
	what := fmt.Sprintf("%s and %s would both be %s", from1, from2, path.Join(InputName, name2))
	if name1 != name2 {
		what = fmt.Sprintf("%s and %s would be %s and %s, which differ only in their case",
			from1, from2, path.Join(InputName, name1), path.Join(InputName, name2))
	}
	return fmt.Errorf("data: %s; rename one, or leave it out", what)
}
