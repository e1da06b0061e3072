package worker

import (
	"log/slog"
	"os/exec"

	"understudy/internal/worker/proc"
	"understudy/sessions"
)

// child is a process that the server itself has started. It is a body.
type child struct {
	cmd *exec.Cmd
	log *slog.Logger
}

// wait reaps the process, and waits for its death if need be.
func (c *child) wait() {
	if err := proc.WaitChild(c.cmd); err != nil && c.cmd.ProcessState == nil {
		c.log.Error("a worker's exit status was lost", "error", err)
	}
}

func (c *child) ended() sessions.CrashError { return exitOf(c.cmd.ProcessState) }
