package worker

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/sessions"
)

// processAttributes puts a worker into a session and a group of its own, so that it has
// no part in the terminal that the server was started from, and has the kernel kill it
// when the launcher's thread, so the server, ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// limitMemory bounds the address space of a process that has just been started.
func limitMemory(pid int, bytes uint64) error {
	limit := unix.Rlimit{Cur: bytes, Max: bytes}
	return unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil)
}

func (c *child) awaitDeath() {
	pid := c.cmd.Process.Pid
	if fd, err := proc.OpenPidfd(pid); err == nil {
		fd.AwaitDeath()
		fd.Close()
		return
	}
	for { // before Linux 5.3
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (c *child) reap() sessions.CrashError {
	c.wait()
	return c.ended()
}
