package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	mostBytes   = 1 << 20 // of one file
	mostInAll   = 8 << 20 // of the sources of all plugins: sessions are sent them at once
	mostPlugins = 200
)

// listing is the state of a directory: its *.yaml and *.py by name, and those of
// packages in it, as "package/module.py".
type listing map[string]fs.FileInfo

// list looks at the directory. Hidden files are none of ours: editors leave such.
func list(dir string) (listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := listing{}
	for _, entry := range entries {
		name := entry.Name()
		switch ext := filepath.Ext(name); {
		case strings.HasPrefix(name, "."):
		case ext == ".yaml", ext == ".yml", ext == ".py":
			found.add(dir, name)
		case entry.IsDir():
			found.addPackage(dir, name)
		}
	}
	return found, nil
}

// add notes how a file is, or what a link leads to.
func (l listing) add(dir, name string) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil { // it may be a link to nothing
		info, err = os.Lstat(path)
	}
	if err == nil {
		l[name] = info
	}
}

// same reports whether no file has changed, as far as that can be told without reading.
func (l listing) same(before listing) bool {
	return maps.EqualFunc(l, before, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
	})
}

// fresh reports whether a file was written so lately that it may change again within what
// its time can tell.
func (l listing) fresh(now time.Time) bool {
	for _, info := range l {
		if now.Sub(info.ModTime()).Abs() < 2*time.Second {
			return true
		}
	}
	return false
}

// mostModules bounds what is looked at in one package.
const mostModules = 500

// addPackage notes the modules of a directory that Python would take for a package.
func (l listing) addPackage(dir, name string) {
	if _, err := os.Stat(filepath.Join(dir, name, "__init__.py")); err != nil {
		return
	}
	n := 0
	_ = filepath.WalkDir(filepath.Join(dir, name), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what can't be seen can't be imported
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "__pycache__"):
			return filepath.SkipDir
		case n >= mostModules:
			return filepath.SkipAll
		case filepath.Ext(path) != ".py":
			return nil
		}
		n++
		if inside, err := filepath.Rel(dir, path); err == nil {
			l.add(dir, filepath.ToSlash(inside))
		}
		return nil
	})
}

// helperDigest is of all modules that plugins may import from their directory: which
// imports which is not known here.
func helperDigest(dir string, files listing) string {
	hash := sha256.New()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		name, isPython := strings.CutSuffix(file, ".py")
		if _, isPlugin := files[name+".yaml"]; isPython && !isPlugin {
			text, err := readText(filepath.Join(dir, file))
			fmt.Fprintf(hash, "%q %v %d\n", file, err, len(text))
			hash.Write(text)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// read reads the plugins that the listing names, in the order of their names.
func read(dir string, files listing) []Plugin {
	var all []Plugin
	total, helpers := 0, helperDigest(dir, files)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		name, ext := strings.TrimSuffix(file, filepath.Ext(file)), filepath.Ext(file)
		if ext == ".py" {
			continue
		}
		p := readOne(dir, name, file, files)
		total += len(p.Source)
		switch {
		case ext == ".yml":
			p = Plugin{Name: name, Callable: p.Callable}
			p.breaks(fmt.Sprintf("%s: it must be named %s.yaml", file, name))
			if _, both := files[name+".yaml"]; both {
				continue
			}
		case len(all) >= mostPlugins:
			p.breaks(fmt.Sprintf("%s: there are more than %d plugins in the directory", file, mostPlugins))
		case total > mostInAll:
			p.breaks(fmt.Sprintf("%s.py: the sources of all plugins up to this one have %d bytes; at most %d are taken", name, total, mostInAll))
		}
		if p.off {
			p.State = Disabled // which agents hear nothing of; its operator reads the problems
		}
		if p.State == Broken {
			p.Source = ""
		}
		p.Helpers = helpers
		p.Version = digest(p)
		all = append(all, p)
	}
	return all
}

func readOne(dir, name, file string, files listing) Plugin {
	path := filepath.Join(dir, file)
	text, err := readText(path)
	if err != nil {
		p := Plugin{Name: name, Callable: checkName(name) == nil}
		p.breaks(file + ": " + err.Error())
		return p
	}
	p := describe(name, path, text)
	p.File = filepath.Join(dir, name+".py")
	if _, found := files[name+".py"]; !found {
		p.breaks(fmt.Sprintf("%s: there is no %s.py beside it", file, name))
		return p
	}
	source, err := readText(p.File)
	if err != nil {
		p.breaks(name + ".py: " + err.Error())
	}
	p.Source = strings.TrimPrefix(string(source), "\ufeff")
	return p
}

// readText reads a file of reasonable size that is UTF-8. A pipe of that name
// would be waited for.
func readText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	switch {
	case err != nil:
		return nil, unreadable(err)
	case len(text) > mostBytes:
		return nil, fmt.Errorf("it has more than %d bytes", mostBytes)
	case !utf8.Valid(text):
		return nil, errors.New("it is not UTF-8")
	}
	return text, nil
}

// unreadable tells the cause without the path, which stands before it.
func unreadable(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("it can't be read: %w", err)
}

// digest is another one for every other plugin.
func digest(p Plugin) string {
	p.Version = ""
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // a plugin is texts and values of JSON
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
