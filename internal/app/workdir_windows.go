package app

import (
	"io/fs"
	"os"
)

// mayWrite reports whether this process may make files in a directory. On Windows only
// trying tells: the read-only attribute of a directory says nothing, and access lists are
// beyond os.
func mayWrite(dir string) bool {
	file, err := os.CreateTemp(dir, ".understudy-*")
	if err != nil {
		return false
	}
	name := file.Name()
	_ = file.Close() // nothing was written
	_ = os.Remove(name)
	return true
}

// othersMayChange returns "": a home directory on Windows is its user's alone.
func othersMayChange(fs.FileInfo, bool) string { return "" }
