//go:build unix

package app

import "golang.org/x/sys/unix"

// mayWrite reports whether this process may make files in a directory. It asks the
// system, and leaves nothing there.
func mayWrite(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}
