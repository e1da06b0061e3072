package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hidden are directories in which people and services keep what is theirs, and in
// which sockets have known names. The others hold as much where Landlock doesn't see to
// it that nothing there can be read.
var (
	hidden     = []string{"/root", "/home", "/run"}
	hiddenElse = []string{"/srv", "/mnt", "/media", "/boot", "/var/tmp"}
)

// newView returns what sessions see whose homes are in a directory: all that there is,
// read-only, but for what is hidden, here or by the operator; read and write come
// through, and so are to their homes. These, and what is their /tmp, are mounted later.
func (w *Wall) newView(homes string, hide, read, write []string) *view {
	size := ""
	if shared := w.settings.Limits.Memory / 2; shared > 0 {
		size = fmt.Sprintf(",size=%d", shared)
	}
	v := &view{
		Covers:    []string{},
		Memory:    [][2]string{{w.system.shm, "mode=1777" + size}},
		Proc:      w.host.User == 0 && w.host.NoProc == "",
		Ptys:      true,
		Temporary: w.system.tmp,
		Homes:     homes,
		Binds:     []bind{},
	}
	binds := v.Binds
	if !v.Proc {
		binds = append(binds, bind{"/proc", "/proc", true})
	}
	directories, files := w.unruled()
	covers := slices.Concat(w.system.hidden, hide, directories)
	for _, path := range slices.Concat(read, write, []string{filepath.Join(homes, "any")}) {
		if closed := closedAbove(path); closed != "" && w.host.User == 0 {
			covers = append(covers, closed)
		}
	}
	replaced := []string{w.system.shm, w.system.tmp} // nothing of what was there is seen
	covers = outermost(append(covers, replaced...))
	v.Covers = slices.DeleteFunc(slices.Clone(covers), func(path string) bool { return slices.Contains(replaced, path) })
	for _, path := range files {
		if !within(path, covers) {
			binds = append(binds, bind{"/dev/null", path, false})
		}
	}
	for _, path := range read {
		above, changeable := between(path, write, read)
		if changeable || within(path, covers) {
			for _, dir := range above {
				if on := (bind{dir, dir, true}); !slices.Contains(binds, on) {
					binds = append(binds, on)
				}
			}
			binds = append(binds, bind{path, path, false})
		}
	}
	for _, path := range write {
		binds = append(binds, bind{path, path, true})
	}
	slices.SortStableFunc(binds, func(a, b bind) int { return depth(a[1].(string)) - depth(b[1].(string)) })
	v.Binds = binds
	return v
}

// unruled are the server's secrets, and the cards of nobody's, where no rules of Landlock's keep them: directories,
// which are covered, and files, in whose place is a device that can't be opened.
func (w *Wall) unruled() (directories, files []string) {
	if w.host.Landlock > 0 {
		return nil, nil
	}
	for _, path := range append(w.secrets(), w.withheld()...) {
		switch info, err := os.Lstat(path); {
		case err != nil: // it is not there
		case info.IsDir():
			directories = append(directories, path)
		default:
			files = append(files, path)
		}
	}
	return directories, files
}

// between reports whether a path is in a directory that may be written to, and returns
// the directories on the way there: each is mounted, as what is mounted on can't be
// replaced. What is in one that may only be read stays as it is anyway.
func between(path string, write, read []string) (above []string, changeable bool) {
	for dir := filepath.Dir(path); !slices.Contains(read, dir); dir = filepath.Dir(dir) {
		if slices.Contains(write, dir) {
			return above, true
		}
		if dir == filepath.Dir(dir) {
			break
		}
		above = append(above, dir)
	}
	return nil, false
}

func depth(path string) int { return strings.Count(filepath.Clean(path), "/") }

// outermost leaves out what is within another.
func outermost(paths []string) (found []string) {
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if !within(path, found) {
			found = append(found, path)
		}
	}
	return found
}

// closedAbove returns the outermost directory above a path that other users may not
// search, "" if there is none: a session that is another user gets there only if the
// directory is covered and the path mounted below.
func closedAbove(path string) string {
	closed := ""
	for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			closed = dir
		}
	}
	return closed
}
