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
	"unicode/utf8"
)

const (
	mostBytes   = 1 << 20 // of one file
	mostInAll   = 8 << 20 // of the sources of all plugins: sessions are sent them at once
	mostPlugins = 200
)

// contents are the files of a directory: its *.yaml and *.py by name, and those of
// packages in it, as "package/module.py".
type contents map[string]content

type content struct {
	text []byte
	err  error // why it can't be read
}

// look reads the directory. Hidden files are none of ours: editors leave such.
func look(dir string) (contents, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := contents{}
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

func (c contents) add(dir, name string) {
	text, err := readText(filepath.Join(dir, name))
	c[name] = content{text, err}
}

// mostModules bounds what is looked at in one package.
const mostModules = 500

// addPackage notes the modules of a directory that Python would take for a package.
func (c contents) addPackage(dir, name string) {
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
			c.add(dir, filepath.ToSlash(inside))
		}
		return nil
	})
}

// sum is another one for every other state of the files that count.
func (c contents) sum(counts func(name string) bool) string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if one := c[name]; counts(name) {
			fmt.Fprintf(hash, "%q %v %d\n", name, one.err, len(one.text))
			hash.Write(one.text)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// isHelper reports whether a file is one of those that plugins may import from their
// directory: which imports which is not known here.
func (c contents) isHelper(name string) bool {
	module, isPython := strings.CutSuffix(name, ".py")
	_, isPlugin := c[module+".yaml"]
	return isPython && !isPlugin
}

// read makes plugins of the files, in the order of their names.
func read(dir string, files contents) []Plugin {
	var all []Plugin
	total, helpers := 0, files.sum(files.isHelper)
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

func readOne(dir, name, file string, files contents) Plugin {
	if err := files[file].err; err != nil {
		p := Plugin{Name: name, Callable: checkName(name) == nil}
		p.breaks(file + ": " + err.Error())
		return p
	}
	p := describe(name, filepath.Join(dir, file), files[file].text)
	p.File = filepath.Join(dir, name+".py")
	source, found := files[name+".py"]
	if !found {
		p.breaks(fmt.Sprintf("%s: there is no %s.py beside it", file, name))
		return p
	}
	if source.err != nil {
		p.breaks(name + ".py: " + source.err.Error())
	}
	p.Source = strings.TrimPrefix(string(source.text), "\ufeff")
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
