package upstream

import (
	"os/exec"
	"syscall"

	"understudy/internal/proc"
)

// guard runs a command in the background of a shell, which the kernel sends SIGTERM when
// this server is killed, and which then kills the whole group: the signal reaches only a
// child, and launchers as npx have children of their own.
const guard = `trap 'kill -KILL 0' TERM
exec 3<&0
"$@" <&3 3<&- &
exec 0<&- 3<&- 1>&-
wait $!`

func command(e entry) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "sh", e.command}, e.args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	return cmd
}

// reap waits for the death of the process, ends its kin while its id still names it,
// and only then lets go of the id.
func (p *process) reap() {
	fd, err := proc.OpenPidfd(p.cmd.Process.Pid)
	if err != nil { // before Linux 5.3
		_ = proc.WaitChild(p.cmd)
		p.kinEnded()
		return
	}
	fd.AwaitDeath()
	fd.Close()
	p.kinEnded()
	_ = proc.WaitChild(p.cmd)
}
