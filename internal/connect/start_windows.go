package connect

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach has a command run without this console.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
