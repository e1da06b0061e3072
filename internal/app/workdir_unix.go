//go:build unix

package app

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mayWrite reports whether this process may make files in a directory. It asks the
// system, and leaves nothing there.
func mayWrite(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// othersMayChange says of a directory, as "belongs to another user", why others decide what
// is in it; "" if they don't. Where root confines code it has other users, to whom its user
// was told to give or open the directory.
func othersMayChange(info fs.FileInfo, confined bool) string {
	if confined && os.Geteuid() == 0 {
		return ""
	}
	if its, ok := info.Sys().(*syscall.Stat_t); ok && int(its.Uid) != os.Geteuid() {
		return fmt.Sprintf("belongs to another user (%d)", its.Uid)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return "can be written to by every user"
	}
	return ""
}
