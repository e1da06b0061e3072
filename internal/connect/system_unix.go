//go:build unix

package connect

import (
	"errors"
	"os/exec"
	"syscall"
)

// detach has a command run in a session of its own, away from this terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// isRefused reports whether nobody listens where a connection was tried.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// closeMask has whatever is made be this user's alone, until restore is called. The mask is
// the whole process's, so nothing else may run meanwhile.
func closeMask() (restore func()) {
	mask := syscall.Umask(0o077)
	return func() { syscall.Umask(mask) }
}
