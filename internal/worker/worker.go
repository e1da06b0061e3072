package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/crash"
	"understudy/internal/worker/door"
	"understudy/internal/worker/limits"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/wire"
	"understudy/sessions"
)

// hangUpGrace is how long a worker may live on without its frames' socket: the
// kernel closes the descriptors of a dying process before it reports its death.
const hangUpGrace = time.Second

// stderrTail is how many bytes of stderr go into the error of a failed start.
const stderrTail = 2000

// worker is one worker. It satisfies sessions.Worker.
type worker struct {
	spawner *Spawner
	process *process
	line    *line
	log     *slog.Logger
	info    sessions.WorkerInfo
	origin  string // the forker it comes from; "" of a spawned one
	untaken bool   // it ended before it had read how it is to start
	// interrupts reach the execution under way.
	interrupts interrupter
	// spec is that of the session; nil until it has started.
	spec atomic.Pointer[sessions.Spec]

	asking asking
	door   *door.Door

	// turn is held by the one request that is under way; conn's frames
	// belong to it.
	turn sync.Mutex
	// owed are the types of answers that are still to come and that nobody
	// waits for any more, in their order.
	owed []string

	connMu sync.Mutex
	conn   *wire.Conn     // nil until the worker has called, on Windows
	watch  sync.WaitGroup // for the process's end, to shut conn

	closing sync.Once
	closed  chan struct{}
	err     error // of Close
}

// join gives the worker its connection.
func (w *worker) join(c *wire.Conn) {
	w.connMu.Lock()
	defer w.connMu.Unlock()
	w.conn = c
	// A stray copy of a dead worker's descriptor must not keep a request
	// waiting.
	w.watch.Go(func() {
		<-w.process.exited
		c.Shut()
	})
}

// A handshake is what a new worker is told.
type handshake struct {
	frame   []byte // of type start
	family  string
	listens bool          // the worker has a socket for the server's proxy, which comes before ready
	base    *sandbox.Base // what may have been put into force ahead of it; nil without a wall
}

// greet has the handshake with a new worker.
func (w *worker) greet(ctx context.Context, handshake handshake) error {
	err := w.begin(ctx, func() (wire.Ready, error) { return w.handshake(handshake) })
	w.info.Origin = orDefault(w.origin, "spawn")
	return err
}

// begin has a process work that says when it is ready, and kills it when ctx ends first.
func (w *worker) begin(ctx context.Context, handshake func() (wire.Ready, error)) error {
	stop := context.AfterFunc(ctx, func() { w.process.kill("") })
	ready, err := handshake()
	if !stop() && err == nil {
		err = ctx.Err() // it is being killed
	}
	if err != nil {
		w.untaken = errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
		return w.startFault(ctx, err)
	}
	w.info = w.infoOf(ready)
	return nil
}

func (w *worker) infoOf(ready wire.Ready) sessions.WorkerInfo {
	options := w.spawner.options
	return sessions.WorkerInfo{
		PID: w.process.pid, Python: ready.Python, Environment: options.Environment.Label, Introduction: options.Environment.Introduction,
		InitError: ready.InitError, Notes: ready.Notes, Wall: describeWall(options.Wall),
	}
}

func (w *worker) handshake(handshake handshake) (wire.Ready, error) {
	var ready wire.Ready
	if err := w.conn.Write(handshake.frame); err != nil {
		return ready, err
	}
	if handshake.listens {
		if err := w.takeListener(handshake.family); err != nil {
			return ready, err
		}
	}
	if err := w.conn.Expect(context.Background(), wire.TypeReady, &ready); err != nil {
		return ready, err
	}
	if ready.Protocol != wire.Version {
		return ready, wire.Errorf("version", "it speaks version %d of the protocol, the server version %d",
			ready.Protocol, wire.Version)
	}
	return ready, nil
}

// startFault says why a worker did not become ready: the end of the process
// and the end of its stderr tell more than the broken connection.
func (w *worker) startFault(ctx context.Context, err error) error {
	var protocol *wire.Error
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &protocol):
		err = fmt.Errorf("python broke the protocol: %w", err)
	default:
		// Who has hung up is of no use any more, and most often dying: its end says why,
		// though on a busy machine it may take its time.
		if !w.process.wait(ctx, proc.KillGrace) {
			break
		}
		err = fmt.Errorf("python %w", exitError(w.process.crash))
	}
	if text := strings.TrimSpace(w.line.output.Tail(sessions.Stderr, stderrTail)); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// exitError is a crash as a start reports it, without the guesses that are
// meant for running code.
func exitError(crash *sessions.CrashError) error {
	if crash.Signal == "" && crash.ExitCode >= 0 {
		return fmt.Errorf("exited with code %d", crash.ExitCode)
	}
	return crash
}

// Run executes code. The context is not what ends an execution: Interrupt and
// Kill are.
func (w *worker) Run(ctx context.Context, request sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
	if request.Kind == "" {
		request.Kind = sessions.RunsCode
	}
	if request.Arguments == nil {
		request.Arguments = json.RawMessage("{}")
	}
	message, err := wire.Encode(wire.TypeRun, wire.NewRun(request))
	if err != nil {
		return sessions.Outcome{}, sessions.Errorf(sessions.CodeInvalid,
			"code is too long (%d bytes); pass at most %d bytes, and read the rest from a file", len(request.Code), wire.MaxHeader/2)
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if err := ctx.Err(); err != nil {
		return sessions.Outcome{}, err
	}
	w.discardFaults()
	w.line.output.Attach(sink)
	defer w.line.output.Detach()
	defer w.door.Begin(sink)()
	done, err := w.execute(message, request.Execution, sink)
	if err != nil {
		return sessions.Outcome{}, w.failWorker(err)
	}
	return done.Outcome(), nil
}

// execute sends the run frame and returns the done frame, whatever comes between.
func (w *worker) execute(run []byte, execution int, sink sessions.Sink) (done wire.Done, err error) {
	if w.process.hasExited() {
		return done, w.process.crash
	}
	if err := w.settle(); err != nil {
		return done, err
	}
	w.interrupts.begin()
	defer w.interrupts.end()
	over := w.spawner.limiter.LetRun(w, w.line.bounds)
	defer func() { done.Notes = append(done.Notes, over(trouble(&done))...) }()
	if err := w.conn.Write(run); err != nil {
		return done, err
	}
	w.interrupts.started()
	defer w.rouse()()
	defer w.asking.end()
	for {
		f, err := w.conn.Receive(context.Background())
		if err != nil {
			return done, err
		}
		switch {
		case f.Kind == wire.TypeFigure:
			err = deliver(f.Figure, sink.Figure)
		case f.Kind == wire.TypeArtifact:
			err = deliver(f.Artifact, sink.Artifact)
		case f.Kind == wire.TypeClear:
			err = deliver(f.Cleared, sink.Clear)
		case f.Kind == wire.TypeAsk:
			err = w.ask(f, sink)
		case f.Kind == wire.TypeDone:
			return f.Done(execution)
		case w.settles(f):
		default:
			err = wire.Errorf("turn", "it answered run with %s", f.Kind)
		}
		if err != nil {
			return done, err
		}
	}
}

// trouble is what an execution says of itself that may have to do with limits.
func trouble(done *wire.Done) limits.Outcome {
	met := limits.Outcome{Notes: done.Notes}
	if done.Exception != nil {
		met.Traceback = done.Exception.Traceback
	}
	return met
}

// settle has the worker take note of a signal that may have crossed with its
// last answer, so that it does not meet the next execution: it can't answer a
// request before that.
func (w *worker) settle() error {
	if !w.interrupts.takeUnsettled() {
		return nil
	}
	_, err := w.askVariables(context.Background())
	return err
}

// deliver hands what a frame says to the sink.
func deliver[T any](read func() (T, error), to func(T)) error {
	said, err := read()
	if err == nil {
		to(said)
	}
	return err
}

// Equip says what executions find from now on.
func (w *worker) Equip(ctx context.Context, equipment sessions.Equipment) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	message := wire.Equip{Plugins: equipment.Plugins, SessionVariables: equipment.Variables}
	if message.Plugins == nil {
		message.Plugins = []sessions.Plugin{}
	}
	if message.SessionVariables == nil {
		message.SessionVariables = map[string]string{}
	}
	var opened []*os.File
	if w.spawner.options.Tools {
		var err error
		if opened, err = w.door.Open(); err != nil {
			return fmt.Errorf("opening the way to other MCP servers: %w", err)
		}
		defer pipes.CloseFiles(opened)
	}
	request, err := wire.EncodeWith(wire.TypeEquip, message, len(opened))
	if err != nil {
		return err
	}
	return w.inquire(ctx, func() error { return w.conn.Pass(request, opened) }, wire.TypeEquipped, &wire.Empty{})
}

// Variables describes what the session's namespace holds.
func (w *worker) Variables(ctx context.Context) (sessions.Namespace, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	message, err := w.askVariables(ctx)
	return message.Namespace, err
}

func (w *worker) askVariables(ctx context.Context) (message wire.Variables, err error) {
	ask := func() error { return w.conn.Send(wire.TypeVariables, wire.Empty{}) }
	err = w.inquire(ctx, ask, wire.TypeVariables, &message)
	return message, err
}

// inquire sends a request and receives its answer. When ctx ends first the answer is
// owed: it comes before that of the next request. A worker that can't answer is dead when
// inquire returns.
func (w *worker) inquire(ctx context.Context, send func() error, kind string, answer any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.process.hasExited() {
		return w.process.crash
	}
	err := send()
	if err == nil {
		err = w.answer(ctx, kind, answer)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		w.owed = append(w.owed, kind)
		return err
	default:
		return w.failWorker(err)
	}
}

// answer receives the answer to a request, of the given type.
func (w *worker) answer(ctx context.Context, kind string, message any) error {
	defer w.rouse()()
	for {
		f, err := w.conn.Receive(ctx)
		switch {
		case err != nil:
			return err
		case w.settles(f):
		case f.Kind != kind:
			return wire.Errorf("turn", "it answered with %s in place of %s", f.Kind, kind)
		default:
			return f.Decode(message)
		}
	}
}

// settles reports whether a frame is an answer that nobody waits for.
func (w *worker) settles(f wire.Frame) bool {
	if len(w.owed) == 0 || f.Kind != w.owed[0] {
		return false
	}
	w.owed = w.owed[1:]
	return true
}

// failWorker sees to it that a worker that failed to answer is dead, and returns the
// reason. It comes from the connection, so from a process that has died, or has
// lost its descriptors, or talks nonsense.
func (w *worker) failWorker(err error) error {
	var protocol *wire.Error
	switch {
	case errors.As(err, &protocol):
		w.process.kill("killed because it broke the protocol: " + protocol.What)
	case !w.process.dies(hangUpGrace):
		w.process.kill(crash.HungUp)
	}
	if !w.process.wait(context.Background(), 2*proc.KillGrace) {
		return &sessions.CrashError{Reason: "does not answer and can't be killed", ExitCode: -1}
	}
	return w.process.crash
}

const (
	// rouseAfter is how long code of a worker's event loop may keep a request waiting.
	rouseAfter = 2 * time.Second
	// rouseAgain is the pause before it is told once more.
	rouseAgain = 250 * time.Millisecond
)

// rouse tells the worker, until end or until it has read the request, that one is
// waiting: code of its event loop, if that runs and doesn't end, is interrupted then.
func (w *worker) rouse() (end func() bool) {
	timer := time.AfterFunc(rouseAfter, func() {
		for w.conn.Unread() && !w.process.hasExited() {
			w.interrupts.nudge()
			time.Sleep(rouseAgain)
		}
	})
	return timer.Stop
}

// Between hands out what was printed since the last execution.
func (w *worker) Between() []sessions.Piece { return w.line.output.Take() }

// Unclaimed is how many bytes Between would hand out.
func (w *worker) Unclaimed() int { return w.line.output.Size() }

// discardFaults forgets what the worker's children have written to the fault
// pipe: a full one would have no room for the worker's own report.
func (w *worker) discardFaults() {
	if w.line.fault != nil {
		pipes.ReadFault(w.line.fault)
	}
}

// Interrupt sends SIGINT to the worker's process group if an execution is under
// way, and does nothing otherwise.
func (w *worker) Interrupt() error {
	if w.process.hasExited() {
		return os.ErrProcessDone
	}
	return w.interrupts.interrupt()
}

// Kill ends the worker and its kin at once.
func (w *worker) Kill() int { return w.process.kill("killed by the server") }

// Exited is closed when the process and its kin have ended.
func (w *worker) Exited() <-chan struct{} { return w.process.exited }

// Ended says how the process came to its end; nil while it lives.
func (w *worker) Ended() *sessions.CrashError {
	if !w.process.hasExited() {
		return nil
	}
	return w.process.crash
}

// Usage says what the worker's process uses now.
func (w *worker) Usage() (sessions.Usage, error) { return w.process.usage() }

// Resident is how many bytes of memory the worker's process has.
func (w *worker) Resident() uint64 { return w.process.resident() }

// Info says what was learnt when the worker started.
func (w *worker) Info() sessions.WorkerInfo { return w.info }

// Close goes through the stop sequence: ask, wait, signal, wait, kill; then it
// closes what joins the worker to the server. Every call returns when the
// worker is gone.
func (w *worker) Close(ctx context.Context) error {
	w.closing.Do(func() {
		w.err = w.close(ctx)
		close(w.closed)
	})
	<-w.closed
	return w.err
}

func (w *worker) close(ctx context.Context) error {
	w.process.blame("ended by the server")
	w.sayStop()
	ended := w.process.end(ctx)
	w.hangUp()
	w.door.Close()
	w.spawner.forget(w)
	w.line.awaitDismissed(ctx)
	w.line.release()
	if !ended {
		return fmt.Errorf("worker %d does not end", w.process.pid)
	}
	w.watch.Wait()
	return nil
}

// sayStop asks an idle worker to exit. One that runs code would not hear.
func (w *worker) sayStop() {
	if !w.turn.TryLock() {
		w.process.terminate()
		return
	}
	defer w.turn.Unlock()
	w.connMu.Lock()
	defer w.connMu.Unlock()
	if w.conn != nil {
		w.conn.SayStop()
	}
}

// hangUp closes the connection and the pipes, after the request under way, if
// any, has been told.
func (w *worker) hangUp() {
	w.connMu.Lock()
	if w.conn != nil && w.process.hasExited() {
		w.conn.Shut()
	} else if w.conn != nil {
		w.conn.Close()
	}
	w.connMu.Unlock()
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.conn != nil {
		w.conn.Close()
	}
}
