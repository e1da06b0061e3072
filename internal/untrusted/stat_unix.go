//go:build unix

package untrusted

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

// fileID is a file's device and number, whatever types they have here.
type fileID [2]any

// manyNames returns which file it is, if it has more than one name.
func manyNames(info fs.FileInfo) (id fileID, shared bool) {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.IsDir() || sys.Nlink < 2 {
		return fileID{}, false
	}
	return fileID{sys.Dev, sys.Ino}, true
}

// onDisk is how many bytes of the disk a file takes.
func onDisk(info fs.FileInfo) int64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return sys.Blocks * 512
	}
	return info.Size()
}
