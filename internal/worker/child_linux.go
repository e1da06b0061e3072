package worker

import (
	"errors"

	"golang.org/x/sys/unix"

	"understudy/internal/worker/proc"
	"understudy/sessions"
)

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
