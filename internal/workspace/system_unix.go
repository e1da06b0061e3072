//go:build unix

package workspace

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// idsOf returns the user and the group of a file, -1 where they are not known.
func idsOf(info fs.FileInfo) (uid, gid int) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid), int(sys.Gid)
	}
	return -1, -1
}

// freeBytes is how many bytes a user may still write below dir.
func freeBytes(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), nil //nolint:gosec,unconvert // the types differ between systems
}
