package pythonenv

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostLinks is how many links the way to a Python may have, as for Linux.
const mostLinks = 40

// passesThrough reports whether a path, or one that a link on the way leads to, is in one
// of the directories: whoever writes there decides what the path names.
func passesThrough(path string, directories []string) bool {
	if !filepath.IsAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return true
		}
		path = here + string(filepath.Separator) + path // Join would take ".." for what it seems
	}
	at, below := split(path)
	rest := elements(below)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if slices.ContainsFunc(directories, func(directory string) bool { return within(next, withoutLinks(directory)) }) {
			return true
		}
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links++; links > mostLinks {
			return true
		}
		if filepath.IsAbs(target) {
			at, target = split(target)
		}
		rest = slices.Concat(elements(target), rest)
	}
	return false
}

// split returns the root of an absolute path, and what is below it.
func split(path string) (root, below string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), path[len(volume):]
}

// elements are the names in a path; ".." may be among them, which after a link is not
// what it seems to be.
func elements(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool { return name == "" || name == "." })
}

// within reports whether a path is a directory or in it.
func within(path, directory string) bool {
	relative, err := filepath.Rel(directory, path)
	return err == nil && filepath.IsLocal(relative)
}
