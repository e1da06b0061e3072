package worker

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// processAttributes puts a worker into a group of its own, which CTRL_BREAK can
// be sent to.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}
