package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/door"
	"understudy/internal/worker/library"
	"understudy/internal/worker/limits"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/wire"
	"understudy/sessions"
)

// Options say how a Spawner starts workers. Python is required; what is left
// out takes the value that its comment names.
type Options struct {
	// Python is the path of the interpreter.
	Python string
	// LibraryDir is where the workers' Python files are laid down; by
	// default, understudy in the user's cache directory.
	LibraryDir string

	Echo          string // all (default), last or none
	Traceback     string // plain (default) or ipython
	Warnings      string // default (default) or ignore
	CodeFile      string // name of the file that holds running code, if any
	InitCode      string // code that runs in every new interpreter, if any
	FigureMaxSide int    // pixels of a preview's longest side; 1568
	ResultLimit   int    // bytes of an encoded result; 1 MiB

	// Preload names the modules that a Zygote imports for its workers; those
	// that can't be imported are left out.
	Preload []string
	// CheckpointShare is the part of the machine's memory, or of the
	// container's, that a Zygote's worker may have for its own and still be
	// copied; 0: workers are never copied.
	CheckpointShare float64

	// Spares is how many workers a Zygote keeps forked ahead, beside those that
	// were asked for: a start that takes one need not wait for a fork.
	Spares int

	// Wall confines the workers; nil: nothing does.
	Wall *sandbox.Wall
	// Serve, if set, gets the socket on which the sessions of a family look for the
	// server's proxy, in a network of their own. It is closed when the last worker in
	// that network is.
	Serve func(family string, l net.Listener)

	// Limits are those of each worker, with what its code has started; by default the
	// Wall's. With any of them, or a Wall, the server also ends the largest worker when
	// the machine's memory is nearly used up. Linux only.
	Limits sandbox.Limits

	// Tools says that code may ask for the tools of other MCP servers (sessions.Sink).
	Tools bool

	// Environment is what workers and their readers are told of Python.
	Environment Environment
	// Env is added to the workers' environment, as "NAME=value".
	Env []string
	// StartTimeout is how long a worker may take to be ready; 30 s. The
	// operator's InitCode is part of that.
	StartTimeout time.Duration
	// Guard has a Spawner keep a root, as a Zygote does anyway. Without one, processes
	// that a worker's code has started outlive a server that is killed. Linux only.
	Guard bool
	// Logger gets what concerns the operator; by default nobody does.
	Logger *slog.Logger
}

// Environment is what is said of a Python and of installing packages into it.
type Environment = wire.Environment

func (o Options) withDefaults() Options {
	o.Echo = orDefault(o.Echo, "all")
	o.Traceback = orDefault(o.Traceback, "plain")
	o.Warnings = orDefault(o.Warnings, "default")
	o.FigureMaxSide = orDefault(o.FigureMaxSide, 1568)
	o.ResultLimit = orDefault(o.ResultLimit, 1<<20)
	o.StartTimeout = orDefault(o.StartTimeout, 30*time.Second)
	o.Limits = orDefault(o.Limits, o.Wall.Limits())
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// UsualSpares is the number of Spares of a server: one for a new session, and one
// for the next that comes before the first is replaced.
const UsualSpares = 2

// Spawner starts workers as plain child processes. It satisfies
// sessions.Starter.
type Spawner struct {
	options Options
	nonce   proc.Nonce
	log     *slog.Logger
	// packages are the Python packages of the library.
	packages map[string]fs.FS
	// life ends when Close begins; starts under way give up then.
	life    context.Context
	endLife context.CancelFunc

	registry *proc.Registry
	// checkpointLimit is how many bytes of its own a worker may have and still
	// be copied; 0: it never is.
	checkpointLimit int64
	obstacle        string          // why workers are never copied, as a clause
	forkers         *forkers        // of a Zygote, or the guard; nil without
	limiter         *limits.Limiter // nil without limits
	// launch starts a process and joins it to a worker, which is to be greeted.
	launch func(ctx context.Context, spec sessions.Spec, mark proc.Mark) (*worker, error)
	// standby hands out a worker that was started ahead, behind that part of a wall, and
	// only has to be greeted; nil where there is none.
	standby func(mark proc.Mark, base *sandbox.Base) *worker

	mu       sync.Mutex
	library  *library.Library // nil before the first start, as the next two
	launcher *launcher
	reaper   *proc.Reaper
	started  uint64
	workers  map[*worker]bool // not closed yet
	starting sync.WaitGroup
	closed   bool
}

// ObstacleSpawned says in a clause why the workers of a Spawner can't be copied.
const ObstacleSpawned = "this server starts each interpreter as a process of its own (--start spawn)"

const obstacleSwitchedOff = "copies of interpreters are switched off (--checkpoint-memory 0)"

var errClosed = errors.New("the server is stopping")

// NewSpawner returns a Spawner that has started nothing yet. On Linux the
// calling process adopts orphans from now on, and descriptors that it has inherited
// are closed in its children. Close must be called at the end.
func NewSpawner(options Options) *Spawner {
	options = options.withDefaults()
	if strings.ContainsRune(options.Python, filepath.Separator) {
		// Workers start in another directory than the server's.
		if path, err := filepath.Abs(options.Python); err == nil {
			options.Python = path
		}
	}
	proc.AdoptOrphans(options.Logger)
	proc.KeepDescriptors()
	life, endLife := context.WithCancel(context.Background())
	s := &Spawner{
		life:     life,
		endLife:  endLife,
		options:  options,
		nonce:    proc.NewNonce(),
		log:      options.Logger,
		packages: library.Embedded,
		registry: proc.NewRegistry(),
		obstacle: ObstacleSpawned,
		workers:  map[*worker]bool{},
		standby:  func(proc.Mark, *sandbox.Base) *worker { return nil },
	}
	s.registry.ByUser = options.Wall.TellsByUser()
	s.launch = s.spawn
	s.forkers = newGuard(s)
	if options.Limits != (sandbox.Limits{}) || options.Wall != nil {
		s.limiter = limits.New(limits.Options{Limits: options.Limits, Registry: s.registry, Present: s.present, Log: s.log})
	}
	return s
}

// Warm begins to start what forks workers, so that the first need not wait, and
// what guards them.
func (s *Spawner) Warm() { s.forkers.begin() }

// Settle waits until starts are as fast as they will be, or ctx ends.
func (s *Spawner) Settle(ctx context.Context) { s.forkers.settle(ctx) }

// ForkObstacle says why workers can't be copied, "" if they can.
func (s *Spawner) ForkObstacle() string { return s.obstacle }

// Start starts a worker and waits until it is ready.
func (s *Spawner) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	w, err := s.start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("starting worker: %w", err)
	}
	w.spec.Store(&spec)
	return w, nil
}

func (s *Spawner) start(ctx context.Context, spec sessions.Spec) (*worker, error) {
	if info, err := os.Stat(spec.Workdir); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() || !filepath.IsAbs(spec.Workdir) {
		return nil, fmt.Errorf("working directory: %s is not the absolute path of a directory", spec.Workdir)
	}
	if err := proc.EnoughDescriptors(); err != nil {
		return nil, err
	}
	s.forkers.begin()
	number, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer s.starting.Done()
	ctx, cancel := s.bound(ctx)
	defer cancel()
	mark := s.nonce.Mark(spec.InterpreterID, number)
	message := s.startMessage(spec, mark)
	if message.Confine, err = s.confinement(spec); err != nil {
		return nil, err
	}
	message.Hosts = s.hosts()
	frame, err := wire.Encode(wire.TypeStart, message)
	if err != nil {
		return nil, err
	}
	handshake := handshake{frame: frame, family: spec.Group, listens: message.Confine.Listens()}
	if message.Confine != nil {
		handshake.base = message.Confine.Base
	}
	w, err := s.startAhead(ctx, mark, handshake)
	if w == nil && err == nil {
		w, err = s.startAnew(ctx, spec, mark, handshake)
	}
	return w, err
}

// startAnew launches a process and begins a session in it.
func (s *Spawner) startAnew(ctx context.Context, spec sessions.Spec, mark proc.Mark, handshake handshake) (*worker, error) {
	w, err := s.launch(ctx, spec, mark)
	if err != nil {
		return nil, err
	}
	if err := w.greet(ctx, handshake); err != nil {
		return nil, errors.Join(err, w.Close(context.Background()))
	}
	return w, nil
}

// startAhead begins a session in a worker that was started ahead. It returns none
// when there is none, or when that one has come to nothing and no code of the
// operator's can have run in it: it may be what ended it.
func (s *Spawner) startAhead(ctx context.Context, mark proc.Mark, handshake handshake) (*worker, error) {
	w := s.standby(mark, handshake.base)
	if w == nil {
		return nil, nil
	}
	err := w.greet(ctx, handshake)
	if err == nil {
		return w, nil
	}
	err = errors.Join(err, w.Close(context.Background()))
	if ctx.Err() != nil || s.options.InitCode != "" && !w.untaken {
		return nil, err
	}
	s.log.Warn("an interpreter that was forked ahead could not be used; another one is started", "error", err)
	return nil, nil
}

// bound ends the context of a start when it takes too long, and with Close.
func (s *Spawner) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { end(errClosed) })
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.StartTimeout,
		fmt.Errorf("python was not ready within %s", s.options.StartTimeout))
	return ctx, func() {
		cancel()
		stop()
		end(nil)
	}
}

// begin makes ready what all starts need and returns the start's number. It is
// to be followed by starting.Done.
func (s *Spawner) begin() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	if err := s.prepareLibrary(); err != nil {
		return 0, err
	}
	if s.launcher == nil {
		s.launcher = newLauncher()
		s.reaper = proc.StartReaper(s.forkers.resume)
	}
	s.starting.Add(1)
	return s.nextNumber(), nil
}

// prepareForker makes ready what a forker needs and returns its directory and
// its mark.
func (s *Spawner) prepareForker(name string) (dir string, m proc.Mark, err error) {
	number, err := s.begin()
	if err != nil {
		return "", m, err
	}
	defer s.starting.Done()
	dir, err = s.library.Ensure()
	return dir, s.nonce.Mark(name, number), err
}

// newMark returns the mark of a session that a copy is for.
func (s *Spawner) newMark(interpreterID string) proc.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonce.Mark(interpreterID, s.nextNumber())
}

// nextNumber numbers the marks. The caller has the lock.
func (s *Spawner) nextNumber() uint64 {
	s.started++
	return s.started
}

func (s *Spawner) prepareLibrary() (err error) {
	if s.library != nil {
		return nil
	}
	cache := s.options.LibraryDir
	if cache == "" {
		if cache, err = os.UserCacheDir(); err != nil {
			return err
		}
		cache = filepath.Join(cache, "understudy")
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return err
	}
	s.library, err = library.New(cache, s.packages)
	return err
}

// spawn starts the process as a child of this one.
func (s *Spawner) spawn(ctx context.Context, spec sessions.Spec, mark proc.Mark) (*worker, error) {
	dir, err := s.library.Ensure()
	if err != nil {
		return nil, err
	}
	return s.assemble(ctx, mark, func(ends *pipes.Ends) (int, body, error) {
		cmd := s.command(dir, mark, ends)
		s.options.Wall.WrapCommand(cmd, spec.Home, spec.Workdir)
		err := s.launcher.run(func() error { return proc.StartChild(cmd) })
		if err != nil {
			return 0, nil, err
		}
		return cmd.Process.Pid, &child{cmd, s.log}, nil
	})
}

// assemble makes a worker of a process that begin starts with its ends.
func (s *Spawner) assemble(ctx context.Context, mark proc.Mark, begin func(*pipes.Ends) (int, body, error)) (*worker, error) {
	ends, output, err := pipes.Open()
	if err != nil {
		return nil, err
	}
	pid, body, err := begin(ends)
	if err != nil {
		output.Close()
		ends.Close()
		return nil, err
	}
	ends.Started()
	kin := proc.NewKin(pid, mark, s.registry, s.log)
	w := s.newWorker(adopt(pid, body, proc.Worker, kin, ends.Fault, s), newLine(output, ends.Fault, kin))
	stream, err := ends.Connect(ctx)
	if err != nil {
		return nil, errors.Join(w.startFault(ctx, err), w.Close(context.Background()))
	}
	w.join(wire.NewConn(stream, s.log))
	return w, nil
}

// newWorker returns a worker of a process that leads a line.
func (s *Spawner) newWorker(p *process, l *line) *worker {
	w := &worker{spawner: s, process: p, line: l, log: s.log, door: door.New(s.log), closed: make(chan struct{})}
	w.interrupts.signal, w.interrupts.nudge = p.interrupt, p.nudge
	if l.bounds == nil {
		l.bounds = s.limiter.Bind(p.pid)
	}
	p.mu.Lock()
	p.bounds = l.bounds
	p.mu.Unlock()
	s.keep(w)
	return w
}

// command returns the worker's command line. It starts in the library's
// directory, because -m puts the directory it starts in before the standard
// library: a random.py in the working directory would be taken for a module of
// ours. The worker goes to the working directory itself.
func (s *Spawner) command(dir string, mark proc.Mark, ends *pipes.Ends) *exec.Cmd {
	cmd := exec.Command(s.options.Python)
	cmd.Dir = dir
	cmd.Env = s.environment(dir, mark)
	cmd.SysProcAttr = processAttributes()
	// -u leaves C's stdio unbuffered: what printf said before a crash is not lost.
	cmd.Args = append(cmd.Args, "-u", "-m", "pyworker")
	cmd.Args = append(cmd.Args, ends.Attach(cmd)...)
	return cmd
}

func (s *Spawner) startMessage(spec sessions.Spec, mark proc.Mark) wire.Start {
	return wire.Start{
		Protocol:        wire.Version,
		InterpreterID:   spec.InterpreterID,
		Workdir:         spec.Workdir,
		PrivateDir:      spec.PrivateDir,
		FirstExecution:  max(spec.FirstExecution, 1),
		Echo:            s.options.Echo,
		Traceback:       s.options.Traceback,
		Warnings:        s.options.Warnings,
		CodeFile:        s.options.CodeFile,
		InitCode:        s.options.InitCode,
		FigureMaxSide:   s.options.FigureMaxSide,
		ResultLimit:     s.options.ResultLimit,
		Mark:            mark.Value,
		Tag:             mark.Tag,
		Python:          &s.options.Environment,
		CheckpointLimit: s.checkpointLimit,
	}
}

func (s *Spawner) keep(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers[w] = true
	s.limiter.Begin()
}

// present returns the workers that are not closed yet.
func (s *Spawner) present() (all []limits.Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.workers {
		all = append(all, w)
	}
	return all
}

func (s *Spawner) forget(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, w)
}

// Close closes the workers that are still open and ends what the Spawner keeps
// running. No worker can be started any more.
func (s *Spawner) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		return nil
	}
	s.endLife()
	s.starting.Wait()
	err := s.closeWorkers(ctx)
	s.forkers.close()
	s.limiter.Close()
	if s.launcher != nil {
		s.launcher.close()
		s.reaper.Close()
	}
	return err
}

func (s *Spawner) closeWorkers(ctx context.Context) error {
	s.mu.Lock()
	var group errgroup.Group
	for w := range s.workers {
		group.Go(func() error { return w.Close(ctx) })
	}
	s.mu.Unlock()
	return group.Wait()
}
