package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// The names in a workspace.
const (
	InputName   = "input"   // the data
	WorkingName = "working" // what code writes, by custom
	partialName = InputName + ".partial"
	ownName     = ".understudy" // the stamp and the lock of a preparation
	partialMark = ownName + "/preparing"
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
	Logger   *slog.Logger // nil: nothing is logged
}

// Plan is data that has been looked at and may go into a workspace. Prepare is
// called once; the other methods at any time.
type Plan struct {
	options Options
	sources []source
	items   []item

	done, total atomic.Int64
	name        atomic.Pointer[string]
}

// source is one path that the operator gave.
type source struct {
	given string
	path  string // absolute, without links
	dir   bool
}

// item is one entry of input/.
type item struct {
	source *source
	path   string // where it comes from
	name   string // what it is called in input/
	format format
}

// NewPlan looks at the sources: whether they can be read, and whether all of them
// have room beside each other. The contents of a directory go into input/, a file
// under its own name, an archive into a directory of its name. Nothing is written.
func NewPlan(sources []string, options Options) (*Plan, error) {
	if options.Limits == (Limits{}) {
		options.Limits = UsualLimits
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	options.FoldCase = options.FoldCase || runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	p := &Plan{options: options}
	var problems []error
	for _, given := range sources {
		s, err := look(given)
		if err == nil {
			err = apart(s, options.Dir)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		p.sources = append(p.sources, s)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for i := range p.sources {
		items, err := p.sources[i].items()
		if err != nil {
			return nil, unreadable(p.sources[i].given, err)
		}
		p.items = append(p.items, items...)
	}
	if err := findClash(p.items, options.FoldCase); err != nil {
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
		now.Name = *name
	}
	return now
}

// look finds out what a source is, and whether it can be read.
func look(given string) (source, error) {
	absolute, err := filepath.Abs(given)
	if err != nil {
		return source{}, unreadable(given, err)
	}
	path, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return source{}, fmt.Errorf("data: %s does not exist", given)
	}
	if err != nil {
		return source{}, unreadable(given, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return source{}, unreadable(given, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return source{}, fmt.Errorf("data: %s is neither a file nor a directory (%s)", given, kindOf(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return source{}, unreadable(given, err)
	}
	return source{given: given, path: path, dir: info.IsDir()}, file.Close()
}

func unreadable(given string, err error) error {
	return fmt.Errorf("data: %s can't be read: %w", given, err)
}

// apart refuses a source that the workspace is in, or that is in the workspace: it
// would be copied into itself.
func apart(s source, dir string) error {
	dir = resolve(dir)
	switch {
	case dir == s.path:
		return fmt.Errorf("data: %s is the workspace itself; choose another directory with --workspace", s.given)
	case s.dir && within(s.path, dir):
		return fmt.Errorf("data: %s contains the workspace %s, which would be copied into itself; choose another directory with --workspace", s.given, dir)
	case within(dir, s.path):
		return fmt.Errorf("data: %s is in the workspace %s already; leave it out, or choose another directory with --workspace", s.given, dir)
	}
	return nil
}

// resolve follows the links in a path whose end may not exist yet.
func resolve(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

// within reports whether path is below dir.
func within(dir, path string) bool {
	local, err := filepath.Rel(dir, path)
	return err == nil && local != "." && filepath.IsLocal(local)
}

// items lists what a source puts into input/.
func (s *source) items() ([]item, error) {
	if !s.dir {
		// Under the name that was given, should it be a link.
		name := filepath.Base(s.given)
		return []item{s.item(s.path, name, formatOf(name), nil)}, nil
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool, len(entries))
	for _, entry := range entries {
		taken[entry.Name()] = true
	}
	var items []item
	for _, entry := range entries {
		if isLitter(entry.Name()) {
			continue
		}
		items = append(items, s.item(filepath.Join(s.path, entry.Name()), entry.Name(), formatOf(entry.Name()), taken))
	}
	return items, nil
}

// item makes one of a path. An archive stays as it is when what it unpacks to
// has its name taken, by one who has unpacked it already.
func (s *source) item(path, name string, format format, taken map[string]bool) item {
	if format.unpacked() && !taken[format.stem] && isFile(path) {
		return item{source: s, path: path, name: format.stem, format: format}
	}
	return item{source: s, path: path, name: name}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// findClash refuses two items of one name.
func findClash(items []item, fold bool) error {
	seen := make(map[string]*item, len(items))
	for i := range items {
		key := items[i].name
		if fold {
			key = strings.ToLower(key)
		}
		first, taken := seen[key]
		if !taken {
			seen[key] = &items[i]
			continue
		}
		return clash(first, &items[i])
	}
	return nil
}

func clash(first, second *item) error {
	if first.path == second.path {
		return fmt.Errorf("data: %s is given twice", first.path)
	}
	what := fmt.Sprintf("%s and %s would both be %s", first.path, second.path, filepath.Join(InputName, second.name))
	if first.name != second.name {
		what = fmt.Sprintf("%s and %s would be %s and %s, which differ only in their case",
			first.path, second.path, filepath.Join(InputName, first.name), filepath.Join(InputName, second.name))
	}
	return fmt.Errorf("data: %s; rename one, or leave it out", what)
}

// isLitter reports whether a name is what macOS leaves in directories and archives.
func isLitter(name string) bool { return name == "__MACOSX" || name == ".DS_Store" }

func hasLitter(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), isLitter)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "mode " + mode.Type().String()
}
