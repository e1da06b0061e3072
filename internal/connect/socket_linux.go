package connect

import (
	"fmt"
	"os"
	"path/filepath"
)

// shorten returns a path of the same socket that the system takes: what is too
// long is named by an open descriptor of its directory, which done closes.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
