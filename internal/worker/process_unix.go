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
	p.withPID(func() { err = unix.Kill(-p.pid, unix.SIGINT) })
	return err
}

// nudge sends the process, and none of its children, a signal that only ends the
// system call it waits in. Where code has set it to its default it does nothing.
func (p *process) nudge() {
	p.withPID(func() { _ = unix.Kill(p.pid, unix.SIGURG) })
}

// terminate sends SIGTERM to the process's group, and SIGCONT: a stopped process
// would not see it otherwise.
func (p *process) terminate() {
	p.withPID(func() {
		_ = unix.Kill(-p.pid, unix.SIGTERM)
		_ = unix.Kill(-p.pid, unix.SIGCONT)
	})
}

// exitOf returns the exit code and the signal of an ended process.
func exitOf(state *os.ProcessState) sessions.CrashError {
	if state == nil {
		return sessions.CrashError{ExitCode: -1}
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	return exitOfStatus(status)
}

// exitOfStatus does the same for a raw status.
func exitOfStatus(status syscall.WaitStatus) sessions.CrashError {
	crash := sessions.CrashError{ExitCode: status.ExitStatus()} // -1 after a signal
	if status.Signaled() {
		crash.Signal = unix.SignalName(status.Signal())
	}
	return crash
}
