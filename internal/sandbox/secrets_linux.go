package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// secrets are the server's where they are now, and where they were as it started: a link
// leads to another file once what it names is renewed, as certificates and what Kubernetes
// mounts are. No code changes these links: no session may write where a secret is.
func (w *Wall) secrets() []string { return settled(w.settings.Secrets) }

// without returns paths that hold all that is in those of the system but for secrets. A
// rule of Landlock's has no exceptions: a directory with a secret in it is given by what
// else is there now, and list has it, so that at least names can be seen.
func without(system, secrets []string) (kept, list []string) {
	for _, path := range system {
		switch {
		case slices.ContainsFunc(secrets, func(secret string) bool { return belongs(path, secret) }):
		case !slices.ContainsFunc(secrets, func(secret string) bool { return within(secret, []string{path}) }):
			kept = append(kept, path)
		default:
			below, listBelow := without(entriesOf(path), secrets)
			kept, list = append(kept, below...), append(append(list, path), listBelow...)
		}
	}
	return kept, list
}

// belongs reports whether a path is in a secret directory, or is a secret file or one
// that is named after it and lies beside it, as a log of a database or an old version.
func belongs(path, secret string) bool {
	if within(path, []string{secret}) {
		return true
	}
	info, err := os.Lstat(secret)
	return (err != nil || !info.IsDir()) && strings.HasPrefix(path, secret)
}

// entriesOf returns what is in a directory, but for links: where they lead, other rules
// say what may be done.
func entriesOf(dir string) (paths []string) {
	entries, _ := os.ReadDir(dir) // of what can't be read nothing is given
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}
