//go:build unix

package connect

import (
	"os/exec"
	"syscall"
)

// detach has a command run in a session of its own, away from this terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
