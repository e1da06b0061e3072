package worker

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"understudy/sessions"
)

// processAttributes puts a worker into a group of its own, which CTRL_BREAK can
// be sent to.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// interrupt sends CTRL_BREAK to the process's group.
func (p *process) interrupt() error {
	err := os.ErrProcessDone
	p.withPID(func() {
		err = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.pid))
	})
	return err
}

// nudge does nothing: what Python waits in there is woken by the event itself.
func (p *process) nudge() {}

// terminate does nothing: Windows has no request to end between the closed
// socket and the kill.
func (p *process) terminate() {}

// exitOf returns the exit code of an ended process, and the signal's name where
// the code is that of a fault.
func exitOf(state *os.ProcessState) sessions.CrashError {
	if state == nil {
		return sessions.CrashError{ExitCode: -1}
	}
	crash := sessions.CrashError{ExitCode: state.ExitCode()}
	if uint32(crash.ExitCode) == uint32(windows.STATUS_ACCESS_VIOLATION) {
		crash.Signal = "SIGSEGV"
	}
	return crash
}
