package workspace

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// What the name of an entry may be at most, in bytes; most systems allow no more.
const (
	longestPart = 255
	longestName = 4096
	deepest     = 100 // directories of archives that people have are ten deep
)

// entryName is where an entry of an archive belongs, with slashes; "." for the
// archive's own directory. Names that lead out of it are refused.
func entryName(raw string) (string, error) {
	name := path.Clean(raw)
	parts := strings.Split(strings.TrimSuffix(raw, "/"), "/")
	switch {
	case raw == "":
		return "", errors.New("it has no name")
	case strings.ContainsRune(raw, 0):
		return "", errors.New("its name holds a NUL")
	case path.IsAbs(raw) || hasDrive(raw):
		return "", errors.New("its name begins at the root of the file system")
	case slices.Contains(parts, ".."):
		return "", errors.New("its name leads out of the archive")
	case len(raw) > longestName:
		return "", fmt.Errorf("its name is longer than %d bytes", longestName)
	case len(parts) > deepest:
		return "", fmt.Errorf("it is more than %d directories deep", deepest)
	case slices.ContainsFunc(parts, func(part string) bool { return len(part) > longestPart }):
		return "", fmt.Errorf("a part of its name is longer than %d bytes", longestPart)
	case runtime.GOOS == "windows" && strings.ContainsAny(raw, `\:*?"<>|`) || !filepath.IsLocal(system(name)):
		return "", errors.New("this system can't have files of its name")
	}
	return name, nil
}

// hasDrive reports whether a name begins as C:/ or C:\ does.
func hasDrive(name string) bool {
	return len(name) >= 3 && name[1] == ':' && (name[2] == '/' || name[2] == '\\')
}
