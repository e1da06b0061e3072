//go:build unix

package pythonenv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// strangersOwn says in a clause why an environment is not to be run: another user has
// made it, or can change it, as anybody may in a directory like /tmp. It returns "" for
// our own and root's. Root works in other users' directories, in containers above all, and
// takes those of the working directory's owner, too, but of nobody else who may write
// above it.
func strangersOwn(environment, python, workdir string) string {
	trusted := []int{0, os.Geteuid()}
	if info, err := os.Stat(workdir); err == nil && os.Geteuid() == 0 {
		trusted = append(trusted, owner(info))
	}
	// The links themselves, too: who made one has chosen what it leads to. What the
	// interpreter's leads to is often the system's, of whatever user that is.
	for _, path := range []string{environment, withoutLinks(environment), withoutLinks(filepath.Dir(python)), python} {
		info, err := os.Lstat(path)
		if err != nil {
			continue // to run it says what is wrong
		}
		if !slices.Contains(trusted, owner(info)) {
			return fmt.Sprintf("it belongs to another user (%d); name it with --python to use it", owner(info))
		}
		// Where a file system keeps no permissions all that is ours is open to everybody.
		if info.IsDir() && info.Mode().Perm()&0o002 != 0 && owner(info) != os.Geteuid() {
			return fmt.Sprintf("every user may write to %s; name it with --python to use it", path)
		}
	}
	return ""
}

// owner is the user whose file it is, -1 where that isn't known.
func owner(info os.FileInfo) int {
	if its, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(its.Uid)
	}
	return -1
}
