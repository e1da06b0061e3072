//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
)

// groupOfItsOwn keeps the terminal's signals from the process, and lets it be ended with
// what it has started.
func groupOfItsOwn(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the process and what it has started, but for what left its group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
