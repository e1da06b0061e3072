//go:build unix && !linux

package worker

import "syscall"

// processAttributes puts a worker into a group of its own. It ends after the
// server does because its frames' socket is closed then.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
