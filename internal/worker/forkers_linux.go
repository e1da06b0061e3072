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

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/wire"
)

// forkers are the root and the zygote of a server. A guard is a root alone, which forks
// nobody and ends what a killed server leaves.
type forkers struct {
	spawner *Spawner
	preload []string
	log     *slog.Logger
	begun   sync.Once
	root    *post
	zygote  *post   // with the libraries imported
	spares  *spares // nil in a guard

	patience time.Duration // for a root that is being started: forkerPatience

	mu sync.Mutex
	// changed is closed, and made anew, when root or zygote has changed, or could not be
	// started.
	changed chan struct{}
	all     map[int]*forker // alive, by process id
}

// tending is what goes on in the background until it is ended.
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

// A post is held by one forker after the other: when one has ended the next is started.
type post struct {
	tending
	forkers *forkers
	start   func(ctx context.Context) (*forker, error)
	lost    string // what it means for the operator that none could be started

	// Those are guarded by the forkers' lock.
	holder  *forker // nil while there is none
	failure error   // of the last start
}

// errNoRoot says that there is nobody to fork a zygote, which the root's post tells of.
var errNoRoot = errors.New("there is no root")

// keep has the post held until life ends: again soon after a holder that has served for a
// while, else after pauses that grow.
func (p *post) keep() {
	const shortest, longest = 50 * time.Millisecond, 30 * time.Second
	for pause := shortest; p.life.Err() == nil; pause = min(2*pause, longest) {
		if p.fill() > 10*pause {
			pause = shortest
		}
		select {
		case <-p.life.Done():
		case <-time.After(pause):
		}
	}
}

// fill starts a forker and returns when it has ended, or has been let go at the server's
// end, and how long it has served.
func (p *post) fill() (served time.Duration) {
	f := p.forkers
	it, err := p.start(p.life)
	if err != nil {
		if p.life.Err() == nil && !errors.Is(err, errClosed) && !errors.Is(err, errNoRoot) {
			f.log.Warn(p.lost, "error", err)
		}
		f.change(func() { p.failure = err })
		return 0
	}
	f.change(func() { p.holder, p.failure, f.all[it.process.pid] = it, nil, it })
	f.log.Debug("the "+it.name+" process is up", "pid", it.process.pid)
	began := time.Now()
	select {
	case <-it.process.exited:
		f.log.Warn("the "+it.name+" process ended and is replaced; interpreters live on", "pid", it.process.pid, "reason", it.process.crash.Reason)
	case <-p.life.Done():
		it.close(context.Background())
	}
	it.conn.Close()
	f.change(func() {
		p.holder = nil
		delete(f.all, it.process.pid)
	})
	return time.Since(began)
}

func newForkers(s *Spawner, preload []string) *forkers {
	f := newRoots(s)
	f.preload, f.spares = preload, newSpares(f, s.options.Spares)
	return f
}

func newRoots(s *Spawner) *forkers {
	f := &forkers{spawner: s, log: s.log, patience: forkerPatience, changed: make(chan struct{}), all: map[int]*forker{}}
	f.root = &post{tending: newTending(), forkers: f, start: f.startRoot,
		lost: "the root process could not be started: meanwhile interpreters are spawned, and what they start may outlive a server that is killed"}
	f.zygote = &post{tending: newTending(), forkers: f, start: f.startZygote,
		lost: "no process with the libraries imported: new interpreters import them themselves"}
	return f
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
		f.begun.Do(f.keepAll)
	}
}

func (f *forkers) keepAll() {
	f.root.running.Go(f.root.keep)
	if f.spares == nil {
		return
	}
	f.zygote.running.Go(f.zygote.keep)
	if f.spares.wanted > 0 {
		f.spares.running.Go(func() { f.spares.keep(f.spares.life) })
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

// awaitRoot returns the root, waiting for it as long as it is being started.
func (f *forkers) awaitRoot(ctx context.Context) (*forker, error) {
	for {
		f.mu.Lock()
		root, failure, changed := f.root.holder, f.root.failure, f.changed
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

// settle waits until there is a zygote, or none could be started, or ctx ends.
func (f *forkers) settle(ctx context.Context) {
	for f != nil && f.spares != nil {
		f.mu.Lock()
		settled, changed := f.zygote.holder != nil || f.zygote.failure != nil, f.changed
		f.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
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
	if zygote = f.zygote.holder; zygote != nil && !zygote.alive() {
		zygote = nil
	}
	return zygote, f.changed
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
	f.root.running.Go(func() { logLines(said, root.process.exited, f.log) })
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
	f.root.running.Go(it.watch)
	return it
}

// startZygote has the root fork a zygote and waits until it has imported what it can.
func (f *forkers) startZygote(ctx context.Context) (*forker, error) {
	root, err := f.awaitRoot(ctx)
	if err != nil {
		return nil, errNoRoot
	}
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
	f.log.Debug("libraries are imported", "pid", pid, "names", preloaded.Imported)
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
	root := f.root.holder
	f.mu.Unlock()
	if root != nil {
		root.adopt(pid)
	}
}

// reap has the forker of that id reap its dead child.
func (f *forkers) reap(parent, pid int) (syscall.WaitStatus, bool) {
	f.mu.Lock()
	it, root := f.all[parent], f.root.holder
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
	f.zygote.end()
	f.root.end()
}
