package sessions

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// blockSize is what is counted for a file's beginning, and for a directory.
const blockSize = 4096

// errNoRoom says that a copy would take more of the disk than is left of DiskLimit.
var errNoRoom = errors.New("the copy takes more than is left of the disk limit")

// roomForCopy is how many bytes the copy of a working directory may take of the disk:
// what the directories that DiskLimit is about leave of it. Without a home of the
// family's each working directory has the limit for itself.
func (s *Session) roomForCopy(ctx context.Context) (int64, error) {
	if s.options.DiskLimit <= 0 {
		return math.MaxInt64, nil
	}
	if s.family.made() == "" {
		return s.options.DiskLimit, nil
	}
	root, err := s.options.homes.open(s.options)
	if err != nil {
		return 0, err
	}
	home, err := openBelow(root, homeName(s.family.id))
	if err != nil {
		return 0, err
	}
	defer func() { _ = home.Close() }() // it was only read
	used, err := usedBelow(ctx, home, s.options.DiskLimit)
	return s.options.DiskLimit - used, err
}

// usedBelow is how many bytes of the disk a directory takes, counted no further than to
// enough. What goes meanwhile doesn't count, nor what is too deep to be copied.
func usedBelow(ctx context.Context, dir *os.Root, enough int64) (used int64, err error) {
	seen := map[fileID]bool{}
	err = fs.WalkDir(dir.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if id, shared := manyNames(info); !shared || !seen[id] {
			used += onDisk(info)
			if shared {
				seen[id] = true
			}
		}
		switch {
		case used > enough:
			return fs.SkipAll
		case entry.IsDir() && strings.Count(name, "/") > deepest:
			return fs.SkipDir
		}
		return nil
	})
	return used, err
}

// take counts what is about to be written.
func (t *tree) take(size int64) error {
	if t.room -= (size + blockSize - 1) / blockSize * blockSize; t.room < 0 {
		return errNoRoom
	}
	return nil
}

// linked reports whether a file is there already under another name, and then makes its
// copy another name of that one's: what code can multiply without using any room takes
// none when it is copied.
func (t *tree) linked(name string, info fs.FileInfo) bool {
	id, shared := manyNames(info)
	if !shared {
		return false
	}
	if first, ok := t.names[id]; ok && t.to.Link(first, name) == nil {
		return true
	}
	t.names[id] = filepath.Clean(name) // it may have as many names as there can be
	return false
}
