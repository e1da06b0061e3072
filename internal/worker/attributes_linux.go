package worker

import "syscall"

// processAttributes puts a worker into a group of its own and has the kernel
// kill it when the launcher's thread, so the server, ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
