//go:build unix

package pythonenv

import (
	"fmt"
	"os"
	"syscall"
)

// strangersOwn says in a clause why an environment is not to be run: another user has
// made it, as anybody may in a directory like /tmp. It returns "" for our own and root's.
// Root works in other users' directories all the time, in containers above all.
func strangersOwn(path string) string {
	info, err := os.Stat(path)
	if err != nil || os.Geteuid() == 0 {
		return ""
	}
	if its, ok := info.Sys().(*syscall.Stat_t); ok && its.Uid != 0 && int(its.Uid) != os.Geteuid() {
		return fmt.Sprintf("it belongs to another user (%d); name it with --python to use it", its.Uid)
	}
	return ""
}
