package connect

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach has a command run without this console.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

// isRefused reports whether nobody listens where a connection was tried.
func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

// closeMask does nothing: Windows has no modes.
func closeMask() (restore func()) { return func() {} }
