package worker

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitDeath returns when the process is dead. It leaves it to be reaped.
func (p *process) awaitDeath() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (p *process) reap() {
	if err := waitChild(p.cmd); err != nil && p.cmd.ProcessState == nil {
		p.log.Error("a worker's exit status was lost", "error", err)
	}
}
