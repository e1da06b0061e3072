package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/sandbox"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/proc"
	"understudy/internal/worker/wire"
)

// forkers are the root and the zygote of a server. Each is replaced when it
// dies: two goroutines tend them from begin to close. A guard is a root alone,
// which forks nobody and ends what a killed server leaves.
type forkers struct {
	spawner *Spawner
	preload []string
	log     *slog.Logger
	begun   sync.Once
	roots   tending
	zygotes tending
	spares  *spares // nil in a guard

	patience time.Duration // for a root that is being started: forkerPatience

	mu     sync.Mutex
	root   *forker // nil while there is none, as zygote
	zygote *forker // warm
	// changed is closed, and made anew, when root or zygote has changed, or the
	// root could not be started.
	changed chan struct{}
	failure error           // of the last start of the root
	all     map[int]*forker // alive, by process id
}

// tending is what keeps one kind of forker until it is stopped.
type tending struct {
	life    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newTending() tending {
	life, stop := context.WithCancel(context.Background())
	return tending{life: life, stop: stop}
}

func (t *tending) end() {
	t.stop()
	t.running.Wait()
}

func newForkers(s *Spawner, preload []string) *forkers {
	f := newRoots(s)
	f.preload, f.spares = preload, newSpares(f, s.options.Spares)
	return f
}

func newRoots(s *Spawner) *forkers {
	return &forkers{
		spawner: s, log: s.log, roots: newTending(), zygotes: newTending(),
		patience: forkerPatience, changed: make(chan struct{}), all: map[int]*forker{},
	}
}

// newGuard returns the guard of a server that spawns, nil if it is to have none.
func newGuard(s *Spawner) *forkers {
	if !s.options.Guard {
		return nil
	}
	return newRoots(s)
}

// begin starts what it can in the background, once.
func (f *forkers) begin() {
	if f != nil {
		f.begun.Do(f.tendAll)
	}
}

func (f *forkers) tendAll() {
	f.roots.running.Go(func() { tend(f.roots.life, f.keepRoot) })
	if f.spares == nil {
		return
	}
	f.zygotes.running.Go(func() { tend(f.zygotes.life, f.keepZygote) })
	if f.spares.wanted > 0 {
		f.spares.running.Go(func() { f.spares.keep(f.spares.life) })
	}
}

// tend calls keep until life ends: again soon after what it kept has served for a
// while, which keep returns, else after pauses that grow.
func tend(life context.Context, keep func(context.Context) (served time.Duration)) {
	const shortest, longest = 50 * time.Millisecond, 30 * time.Second
	pause := shortest
	for life.Err() == nil {
		if keep(life) > 10*pause {
			pause = shortest
		}
		select {
		case <-life.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}

// change applies a change and wakes those who wait for one.
func (f *forkers) change(apply func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	apply()
	close(f.changed)
	f.changed = make(chan struct{})
}

// keepRoot starts a root and returns when it has ended.
func (f *forkers) keepRoot(ctx context.Context) (served time.Duration) {
	root, err := f.startRoot(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errClosed) {
			f.log.Warn("the root process could not be started: meanwhile interpreters are spawned, and what they start may outlive a server that is killed", "error", err)
		}
		f.change(func() { f.failure = err })
		return 0
	}
	f.change(func() { f.root, f.failure, f.all[root.process.pid] = root, nil, root })
	f.log.Debug("the root process is up", "pid", root.process.pid)
	served = f.see(ctx, root)
	f.change(func() {
		f.root = nil
		delete(f.all, root.process.pid)
	})
	return served
}

// see returns when the forker has ended, or has been let go at the server's end,
// and how long that took.
func (f *forkers) see(ctx context.Context, it *forker) time.Duration {
	began := time.Now()
	select {
	case <-it.process.exited:
		f.log.Warn("the "+it.name+" process ended and is replaced; interpreters live on", "pid", it.process.pid, "reason", it.process.crash.Reason)
	case <-ctx.Done():
		it.close(context.Background())
	}
	it.conn.Close()
	return time.Since(began)
}

// keepZygote forks a zygote from the root and returns when it has ended.
func (f *forkers) keepZygote(ctx context.Context) (served time.Duration) {
	root, err := f.awaitRoot(ctx)
	if err != nil {
		return 0
	}
	zygote, err := f.startZygote(ctx, root)
	if err != nil {
		if ctx.Err() == nil {
			f.log.Warn("no process with the libraries imported: new interpreters import them themselves", "error", err)
		}
		return 0
	}
	f.change(func() { f.zygote = zygote })
	served = f.see(ctx, zygote)
	f.change(func() {
		f.zygote = nil
		delete(f.all, zygote.process.pid)
	})
	return served
}

// awaitRoot returns the root, waiting for it as long as it is being started.
func (f *forkers) awaitRoot(ctx context.Context) (*forker, error) {
	for {
		f.mu.Lock()
		root, failure, changed := f.root, f.failure, f.changed
		f.mu.Unlock()
		switch {
		case root != nil && root.alive():
			return root, nil
		case failure != nil:
			return nil, failure
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// warm returns the zygote, nil while there is none.
func (f *forkers) warm() *forker {
	zygote, _ := f.present()
	return zygote
}

// present returns what warm does, and what is closed when that may have changed.
func (f *forkers) present() (zygote *forker, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.zygote == nil || !f.zygote.alive() {
		return nil, f.changed
	}
	return f.zygote, f.changed
}

// forkWorker has a forker fork a worker that gets the child's side of ends. It puts ahead
// into force at once; nil for nothing.
func (f *forkers) forkWorker(by *forker, ends *pipes.Ends, ahead *sandbox.Base) (int, body, error) {
	pid, err := by.spawn(wire.Spawn{Kind: wire.KindWorker, Ahead: ahead}, ends.Child)
	if err != nil {
		return 0, nil, err
	}
	body, err := newForked(pid, f, f.log)
	if err != nil {
		by.discard(pid)
		return 0, nil, err
	}
	body.own()
	return pid, body, nil
}

// bare returns the root, nil if there is none and none comes soon.
func (f *forkers) bare(ctx context.Context) *forker {
	ctx, cancel := context.WithTimeout(ctx, f.patience)
	defer cancel()
	root, err := f.awaitRoot(ctx)
	if err != nil {
		return nil
	}
	return root
}

// adopts reports whether orphans may come to the process.
func (f *forkers) adopts(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pid == os.Getpid() || f.all[pid] != nil
}

// startRoot starts a root and waits until it can fork.
func (f *forkers) startRoot(ctx context.Context) (*forker, error) {
	dir, mark, err := f.spawner.prepareForker("root")
	if err != nil {
		return nil, err
	}
	stream, theirs, err := pipes.FramesPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	said, says, err := os.Pipe()
	if err != nil {
		_ = stream.Close()
		return nil, err
	}
	defer says.Close()
	cmd := f.command(dir, mark, theirs, says)
	if err := proc.StartChild(cmd); err != nil {
		pipes.CloseFiles([]*os.File{said})
		_ = stream.Close()
		return nil, err
	}
	root := f.newForker("root", cmd.Process.Pid, &child{cmd, f.log}, stream)
	f.roots.running.Go(func() { logLines(said, root.process.exited, f.log) })
	var ready wire.Ready
	if err := root.hear(ctx, f.spawner.options.StartTimeout, wire.TypeReady, &ready); err != nil {
		return nil, err
	}
	if ready.Protocol != wire.Version {
		root.close(ctx)
		return nil, fmt.Errorf("it speaks version %d of the protocol, the server version %d", ready.Protocol, wire.Version)
	}
	return root, nil
}

// command returns the root's command line. Unlike a worker's its group is not
// killed with the server by the kernel: it ends its descendants first. A session of its
// own keeps confined ones from the terminal that the server was started from: a worker's
// user may have no right to the device, but one's own terminal is /dev/tty for everybody.
func (f *forkers) command(dir string, mark proc.Mark, control, says *os.File) *exec.Cmd {
	cmd := exec.Command(f.spawner.options.Python, "-u", "-m", "pyworker", "--root", "3", string(f.spawner.nonce))
	cmd.Dir = dir
	cmd.Env = f.spawner.environment(dir, mark)
	// Without a wall the root stays in the server's session: if it dies, the groups of its
	// workers are no orphans, of which the kernel would hang up those that are stopped.
	walled := f.spawner.options.Wall != nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: walled, Setpgid: !walled}
	cmd.Stdout, cmd.Stderr = says, says
	cmd.ExtraFiles = []*os.File{control}
	return cmd
}

// newForker joins a process with its conversation.
func (f *forkers) newForker(name string, pid int, body body, stream net.Conn) *forker {
	it := newForker(name, adopt(pid, body, proc.Forker, nil, nil, f.spawner), stream)
	f.roots.running.Go(it.watch)
	return it
}

// startZygote forks a zygote and waits until it has imported what it can.
func (f *forkers) startZygote(ctx context.Context, root *forker) (*forker, error) {
	stream, theirs, err := pipes.FramesPair()
	if err != nil {
		return nil, err
	}
	pid, err := root.spawn(wire.Spawn{Kind: wire.KindZygote, Preload: f.preload}, []*os.File{theirs})
	_ = theirs.Close()
	if err != nil {
		_ = stream.Close()
		return nil, err
	}
	body, err := newForked(pid, f, f.log)
	if err != nil {
		_ = stream.Close()
		root.discard(pid)
		return nil, err
	}
	body.own()
	zygote := f.newForker("zygote", pid, body, stream)
	f.change(func() { f.all[pid] = zygote })
	var preloaded wire.Preloaded
	if err := zygote.hear(ctx, preloadPatience, wire.TypePreloaded, &preloaded); err != nil {
		f.change(func() { delete(f.all, pid) })
		return nil, err
	}
	for _, failed := range preloaded.Failed {
		f.log.Info("a library is not imported beforehand", "name", failed[0], "reason", failed[1])
	}
	f.log.Debug("the zygote is warm", "pid", pid, "imported", preloaded.Imported)
	return zygote, nil
}

// resume has a root go on that somebody has stopped, one that is just starting too: it
// could not notice that the server was killed.
func (f *forkers) resume() {
	if f == nil {
		return
	}
	for _, pid := range f.spawner.registry.All(proc.Forker) {
		var stopped unix.Siginfo // stays empty for the zygote, which is no child of ours
		err := unix.Waitid(unix.P_PID, pid, &stopped, unix.WSTOPPED|unix.WNOHANG, nil)
		if err == nil && stopped.Signo != 0 && unix.Kill(pid, unix.SIGCONT) == nil {
			f.log.Warn("the root process had been stopped; it goes on", "pid", pid)
		}
	}
}

// adopt tells the root that a process is reaped on request only.
func (f *forkers) adopt(pid int) {
	f.mu.Lock()
	root := f.root
	f.mu.Unlock()
	if root != nil {
		root.adopt(pid)
	}
}

// reap has the forker of that id reap its dead child.
func (f *forkers) reap(parent, pid int) (syscall.WaitStatus, bool) {
	f.mu.Lock()
	it, root := f.all[parent], f.root
	f.mu.Unlock()
	if it == nil {
		return 0, false
	}
	status, ok := it.reap(pid)
	if ok && root != nil && root != it {
		root.reap(pid) // it is no child of root's: this makes it forget the id
	}
	return status, ok
}

// close ends the spares, the zygote, then the root, and with it whoever is left.
func (f *forkers) close() {
	if f == nil {
		return
	}
	if f.spares != nil {
		f.spares.end()
	}
	f.zygotes.end()
	f.roots.end()
}
