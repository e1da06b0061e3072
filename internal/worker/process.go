package worker

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"understudy/internal/proc"
	"understudy/internal/worker/crash"
	"understudy/internal/worker/limits"
	"understudy/internal/worker/pipes"
	"understudy/sessions"
)

// The stop sequence: how long each step may take before the next; killing
// may take proc.KillGrace.
const (
	stopGrace = time.Second // asked over the frames' socket, or closed
	termGrace = time.Second // asked by SIGTERM
)

// body is a process as whoever started it has it.
type body interface {
	// awaitDeath returns when the process is dead.
	awaitDeath()
	// reap lets go of the dead process's id and tells how it ended. Where
	// there is no waiting without reaping awaitDeath has done so already.
	reap() sessions.CrashError
}

// process owns one Python process and its kin, from its start to its end. Its
// goroutine own is the only one that waits for it.
type process struct {
	pid     int
	body    body
	spawner *Spawner
	log     *slog.Logger

	// dead is closed when the process itself has ended.
	dead chan struct{}
	// exited is closed when its kin have ended too, and crash tells how. That is
	// also when its id may name another process.
	exited chan struct{}
	crash  *sessions.CrashError

	// alive is held for reading while the process is signalled by its id and
	// for writing while it is reaped, so that no signal meets a stranger.
	alive  sync.RWMutex
	reaped bool

	mu     sync.Mutex
	kin    *proc.Kin      // nil for a copy that sleeps: it has none of its own
	fault  *os.File       // reading end; nil where faults go to stderr
	cause  string         // why we ended it, if we did; the first one told counts
	bounds *limits.Bounds // of its line; nil without limits, and while it sleeps
}

// adopt makes a started Python a process. Without kin it is a forker, or a copy
// that sleeps; see lead.
func adopt(pid int, body body, as proc.Role, kin *proc.Kin, fault *os.File, s *Spawner) *process {
	p := &process{
		pid:     pid,
		body:    body,
		spawner: s,
		kin:     kin,
		fault:   fault,
		log:     s.log.With("pid", pid),
		dead:    make(chan struct{}),
		exited:  make(chan struct{}),
	}
	s.registry.Add(pid, as)
	go p.own()
	return p
}

// lead gives a process that slept the kin and the fault pipe it leads from now on.
func (p *process) lead(kin *proc.Kin, fault *os.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kin, p.fault = kin, fault
}

func (p *process) family() *proc.Kin {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kin
}

// own sees the process to its end. The kin are ended before it is reaped: until
// then its id, and that of its group, can't be anybody else's.
func (p *process) own() {
	p.body.awaitDeath()
	close(p.dead)
	kin := p.family()
	if kin != nil {
		kin.End()
	}
	p.spawner.registry.Remove(p.pid)
	p.alive.Lock()
	ended := p.body.reap()
	p.reaped = true
	p.alive.Unlock()
	p.crash = p.describe(ended)
	p.log.Debug("process ended", "reason", p.crash.Reason)
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
func (p *process) describe(ended sessions.CrashError) *sessions.CrashError {
	p.mu.Lock()
	defer p.mu.Unlock()
	cause, trace := p.cause, ""
	if p.fault != nil {
		trace = pipes.ReadFault(p.fault)
	}
	if cause == "" && ended.Signal == "SIGKILL" {
		cause = p.bounds.Verdict()
	}
	return crash.Describe(ended, trace, cause, p.spawner.options.CodeFile)
}

// kill ends the process and its kin, and returns how many processes beside it
// were ended. It waits for the end as long as that may reasonably take.
func (p *process) kill(cause string) int {
	p.blame(cause)
	ended := 0
	p.withPID(func() {
		if kin := p.family(); kin != nil {
			ended = kin.End()
		} else {
			p.destroy()
		}
	})
	if !p.wait(context.Background(), proc.KillGrace) {
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

// dies reports whether the process itself ends within the time. What is then
// still to be done, its kin's end above all, wait waits for.
func (p *process) dies(limit time.Duration) bool {
	select {
	case <-p.dead:
		return true
	case <-time.After(limit):
		return false
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

// end goes through the stop sequence: it has been asked to stop; wait, signal, wait, kill.
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

// usage says what the process uses now; nothing where the system doesn't tell.
func (p *process) usage() (usage sessions.Usage, err error) {
	err = os.ErrProcessDone
	select {
	case <-p.dead: // it may take a while to be reaped
		return usage, err
	default:
	}
	p.withPID(func() { usage.Memory, usage.Private, err = proc.Memory(p.pid) })
	return usage, err
}

// resident is the cheaper half of it, 0 of a process that has ended.
func (p *process) resident() (memory uint64) {
	select {
	case <-p.dead:
		return 0
	default:
	}
	p.withPID(func() { memory = proc.Resident(p.pid) })
	return memory
}

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

// launcher runs starts one after the other on one thread that lives until
// close. On Linux a worker asks to be killed when its parent dies, and the
// kernel takes the starting *thread* for the parent: Go ends threads at will,
// but not one that a goroutine is locked to.
type launcher struct {
	jobs chan func()
	done sync.WaitGroup
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func())}
	l.done.Go(func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		for job := range l.jobs {
			job()
		}
	})
	return l
}

// run calls start on the launcher's thread.
func (l *launcher) run(start func() error) error {
	result := make(chan error, 1)
	l.jobs <- func() { result <- start() }
	return <-result
}

func (l *launcher) close() {
	close(l.jobs)
	l.done.Wait()
}
