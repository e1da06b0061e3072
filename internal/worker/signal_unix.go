//go:build unix

package worker

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"understudy/sessions"
)

// interrupt sends SIGINT to the process's group.
func (p *process) interrupt() error {
	err := os.ErrProcessDone
	p.withPID(func() { err = unix.Kill(-p.cmd.Process.Pid, unix.SIGINT) })
	return err
}

// terminate sends SIGTERM to the process's group, and SIGCONT: a stopped process
// would not see it otherwise.
func (p *process) terminate() {
	p.withPID(func() {
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGTERM)
		_ = unix.Kill(-p.cmd.Process.Pid, unix.SIGCONT)
	})
}

// exitOf returns the exit code and the signal of an ended process.
func exitOf(state *os.ProcessState) *sessions.CrashError {
	if state == nil {
		return &sessions.CrashError{ExitCode: -1}
	}
	crash := &sessions.CrashError{ExitCode: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		crash.Signal = unix.SignalName(status.Signal())
	}
	return crash
}
