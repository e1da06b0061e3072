package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// What a rule may allow.
const (
	toRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	toUse  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	toWrite = toRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	everyRight = toWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rightsOf returns the rights that a version of Landlock knows.
func rightsOf(version int) uint64 {
	rights := uint64(everyRight)
	if version < 5 {
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version < 3 {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version < 2 {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	return rights
}

// newLandlock returns rules by path. What is in no rule can't be reached. In list the
// names of files are to be seen.
func newLandlock(version int, read, use, write, list []string) *landlock {
	rights := rightsOf(version)
	l := &landlock{Files: rights, Words: 1}
	if version >= 4 {
		l.Words = 2
	}
	if version >= 6 {
		l.Words = 3
		l.Scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	l.Rules = slices.Concat(rulesFor(version, toRead, read), rulesFor(version, toUse, use), rulesFor(version, toWrite, write),
		rulesFor(version, unix.LANDLOCK_ACCESS_FS_READ_DIR, list))
	return l
}

// rulesFor gives paths the rights that a version of Landlock knows.
func rulesFor(version int, allowed uint64, paths []string) (rules []rule) {
	for _, path := range paths {
		rules = append(rules, rule{path, allowed & rightsOf(version)})
	}
	return rules
}
