package worker

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/sessions"
)

// forked is a process that a forker, or a worker, has forked. It is a body. Its
// parent reaps it when it is told; should the parent die first, the process is
// a child of the root or of this server, whichever is the nearest to adopt it.
type forked struct {
	pid     int
	fd      *proc.Pidfd
	forkers *forkers
	log     *slog.Logger
	// owned says that its exit status is ours to ask for. A copy that sleeps
	// is its worker's child, and nobody needs to know how it ended.
	owned atomic.Bool
}

func newForked(pid int, f *forkers, log *slog.Logger) (*forked, error) {
	fd, err := proc.OpenPidfd(pid)
	if err != nil {
		return nil, err
	}
	return &forked{pid: pid, fd: fd, forkers: f, log: log}, nil
}

// own sees to it that nobody else reaps the process.
func (f *forked) own() {
	f.owned.Store(true)
	proc.KeepChild(f.pid)
	f.forkers.adopt(f.pid)
}

func (f *forked) awaitDeath() { f.fd.AwaitDeath() }

func (f *forked) reap() sessions.CrashError {
	defer f.fd.Close()
	if !f.owned.Load() {
		return sessions.CrashError{ExitCode: -1}
	}
	defer proc.DropChild(f.pid)
	deadline := time.Now().Add(2 * forkerPatience)
	for pause := 100 * time.Microsecond; time.Now().Before(deadline); pause *= 2 {
		if status, ok := f.reapFrom(); ok {
			return exitOfStatus(status)
		}
		if errors.Is(unix.Kill(f.pid, 0), unix.ESRCH) {
			return sessions.CrashError{ExitCode: -1} // reaped before it was known to be ours
		}
		time.Sleep(pause) // the parent is dying, or was stopped and is being killed: another one follows
	}
	f.log.Error("a worker's exit status was lost", "pid", f.pid)
	return sessions.CrashError{ExitCode: -1}
}

// reapFrom asks the present parent.
func (f *forked) reapFrom() (status syscall.WaitStatus, ok bool) {
	p, found := proc.Read(f.pid)
	if found && p.Parent != os.Getpid() {
		return f.forkers.reap(p.Parent, f.pid)
	}
	var waited unix.WaitStatus
	pid, err := unix.Wait4(f.pid, &waited, unix.WNOHANG, nil)
	return syscall.WaitStatus(waited), err == nil && pid == f.pid
}

func (f *forked) signal(number syscall.Signal) { f.fd.Signal(number) }

// destroy kills a process that has no kin.
func (p *process) destroy() {
	switch body := p.body.(type) {
	case *forked:
		body.signal(unix.SIGKILL)
	case *child:
		_ = body.cmd.Process.Kill()
	}
}
