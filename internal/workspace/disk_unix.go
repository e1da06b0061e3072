//go:build unix

package workspace

import "golang.org/x/sys/unix"

// freeBytes is how many bytes a user may still write below dir.
func freeBytes(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), nil //nolint:gosec,unconvert // the types differ between systems
}
