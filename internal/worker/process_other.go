//go:build !linux

package worker

// awaitDeath returns when the process is dead, and reaps it at once: elsewhere
// than on Linux there is no waiting without.
func (p *process) awaitDeath() {
	if err := waitChild(p.cmd); err != nil && p.cmd.ProcessState == nil {
		p.log.Error("a worker's exit status was lost", "error", err)
	}
}

func (p *process) reap() {}
