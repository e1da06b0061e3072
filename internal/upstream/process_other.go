//go:build !linux

package upstream

import (
	"os/exec"

	"understudy/internal/proc"
)

func command(e entry) *exec.Cmd {
	cmd := exec.Command(e.command, e.args...)
	cmd.SysProcAttr = attributes()
	return cmd
}

// reap waits for the process and ends what is left of its group, or its job.
func (p *process) reap() {
	_ = proc.WaitChild(p.cmd)
	p.kinEnded()
}
