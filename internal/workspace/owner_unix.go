//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// idsOf returns the user and the group of a file, -1 where they are not known.
func idsOf(info fs.FileInfo) (uid, gid int) {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid), int(sys.Gid)
	}
	return -1, -1
}
