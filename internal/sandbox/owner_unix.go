//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// ownerOfFile returns the user whom a file belongs to.
func ownerOfFile(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
