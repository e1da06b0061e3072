package workspace

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// idsOf knows of no users.
func idsOf(fs.FileInfo) (uid, gid int) { return -1, -1 }

// freeBytes is how many bytes a user may still write below dir.
func freeBytes(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
