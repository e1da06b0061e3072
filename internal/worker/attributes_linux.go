package worker

import "syscall"

// processAttributes puts a worker into a session and a group of its own, so that it has
// no part in the terminal that the server was started from, and has the kernel kill it
// when the launcher's thread, so the server, ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
