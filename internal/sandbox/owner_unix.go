//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// ownerOfFile returns whom a file belongs to.
func ownerOfFile(info fs.FileInfo) account {
	status := info.Sys().(*syscall.Stat_t)
	return account{int(status.Uid), int(status.Gid)}
}
