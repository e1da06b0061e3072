package worker

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"understudy/sessions"
)

// The ladder of endings: how long each step may take before the next.
const (
	stopGrace = time.Second     // asked over the frames' socket, or closed
	termGrace = time.Second     // asked by SIGTERM
	killGrace = 5 * time.Second // killed: longer only in an uninterruptible wait
)

// process owns one Python process and its kin, from its start to its end. Its
// goroutine own is the only one that waits for it.
type process struct {
	cmd   *exec.Cmd
	kin   *kin
	fault *os.File // reading end; nil where faults go to stderr
	log   *slog.Logger

	// exited is closed when the process has ended, its kin too, and crash
	// tells how. That is also when its id may name another process.
	exited chan struct{}
	crash  *sessions.CrashError

	// alive is held for reading while the process is signalled by its id and
	// for writing while it is reaped, so that no signal meets a stranger.
	alive  sync.RWMutex
	reaped bool

	mu    sync.Mutex
	cause string // why we ended it, if we did; the first one told counts
}

// adopt makes a started command a process.
func adopt(cmd *exec.Cmd, mark mark, fault *os.File, log *slog.Logger) *process {
	p := &process{
		cmd:    cmd,
		kin:    newKin(cmd.Process.Pid, mark, log),
		fault:  fault,
		log:    log.With("pid", cmd.Process.Pid),
		exited: make(chan struct{}),
	}
	go p.own()
	return p
}

// own sees the process to its end. The kin are ended before it is reaped: until
// then its id, and that of its group, can't be anybody else's.
func (p *process) own() {
	p.awaitDeath()
	p.kin.end()
	p.alive.Lock()
	p.reap()
	p.reaped = true
	p.alive.Unlock()
	p.kin.close()
	p.crash = p.describe()
	p.log.Debug("worker ended", "reason", p.crash.Reason)
	close(p.exited)
}

// blame says why the process is about to be ended.
func (p *process) blame(cause string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == "" {
		p.cause = cause
	}
}

// describe says how the process ended.
func (p *process) describe() *sessions.CrashError {
	p.mu.Lock()
	defer p.mu.Unlock()
	crash := exitOf(p.cmd.ProcessState)
	crash.Trace = lastFault(readFault(p.fault))
	crash.Reason = reason(crash, p.cause)
	return crash
}

// kill ends the process and its kin, and returns how many processes beside it
// were ended. It waits for the end as long as that may reasonably take.
func (p *process) kill(cause string) int {
	p.blame(cause)
	ended := 0
	p.withPID(func() { ended = p.kin.end() })
	if !p.wait(context.Background(), killGrace) {
		p.log.Error("a killed worker does not end")
	}
	return ended
}

// withPID calls act while the process's id is sure to be its own.
func (p *process) withPID(act func()) {
	p.alive.RLock()
	defer p.alive.RUnlock()
	if !p.reaped {
		act()
	}
}

// wait reports whether the process has ended before the time is over and before
// ctx ends.
func (p *process) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return p.hasExited()
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end climbs the ladder: it has been asked to stop; wait, signal, wait, kill.
// A step whose wait fails for whatever reason falls to the next.
func (p *process) end(ctx context.Context) bool {
	if p.wait(ctx, stopGrace) {
		return true
	}
	p.terminate()
	if p.wait(ctx, termGrace) {
		return true
	}
	p.kill("ended by the server")
	return p.hasExited()
}
