package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/wire"
	"understudy/sessions"
)

// Fork copies the idle worker. The copy sleeps on a socket of its own and does
// nothing by itself.
func (w *worker) Fork(ctx context.Context, purpose sessions.Purpose) (sessions.Understudy, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.spawner.checkpointLimit <= 0 {
		return nil, &sessions.ForkError{Reason: w.spawner.ForkObstacle()}
	}
	stream, theirs, err := pipes.FramesPair()
	if err != nil {
		return nil, &sessions.ForkError{Reason: fmt.Sprintf("no socket could be made: %v", err)}
	}
	err = w.askFork(ctx, wire.Fork{Detached: purpose == sessions.ToBranch}, theirs)
	_ = theirs.Close()
	if err != nil {
		_ = stream.Close()
		return nil, err
	}
	u := &understudy{spawner: w.spawner, conn: wire.NewConn(stream, w.log), log: w.log}
	if purpose == sessions.ToStandBy {
		u.line = w.line
		u.line.hold()
	} else {
		u.network = w.line.network.hold()
	}
	if err := u.meet(ctx, w); err != nil {
		u.conn.Close()
		u.letGo()
		return nil, fmt.Errorf("the copy was lost: %w", err)
	}
	return u, nil
}

// askFork returns nil when there is a copy.
func (w *worker) askFork(ctx context.Context, message wire.Fork, frames *os.File) error {
	request, err := wire.EncodeWith(wire.TypeFork, message, 1)
	if err != nil {
		return err
	}
	var answer wire.Forked
	pass := func() error { return w.conn.Pass(request, []*os.File{frames}) }
	switch err := w.inquire(ctx, pass, wire.TypeForked, &answer); {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &sessions.ForkError{Reason: "the interpreter did not copy itself in time"}
	case err != nil:
		return err
	case !answer.OK:
		return &sessions.ForkError{Reason: answer.Reason}
	}
	return nil
}

// understudy is a copy of a worker. It satisfies sessions.Understudy.
type understudy struct {
	spawner *Spawner
	line    *line   // nil for the copy that is to be a branch
	network *shared // of that one, held until its own line does
	process *process
	body    *forked
	conn    *wire.Conn
	log     *slog.Logger

	mu   sync.Mutex
	over bool // woken, or dismissed
}

// meet waits until the copy of w sleeps.
func (u *understudy) meet(ctx context.Context, w *worker) error {
	var ready wire.Ready
	err := u.conn.Expect(ctx, wire.TypeReady, &ready)
	if err == nil {
		err = u.verify(ready.PID, w)
	}
	if err != nil {
		return err
	}
	if u.body, err = newForked(ready.PID, u.spawner.forkers, u.log); err != nil {
		return err
	}
	u.process = adopt(ready.PID, u.body, proc.Worker, nil, nil, u.spawner)
	return nil
}

// verify checks the id that a copy of w gives as its own: what it says comes from
// a process in which the user's code could have changed anything, and the id is
// going to be sent signals.
func (u *understudy) verify(pid int, w *worker) error {
	p, found := proc.Read(pid)
	stranger := !found || u.spawner.registry.Has(pid)
	if u.line != nil {
		stranger = stranger || p.Parent != w.process.pid
	} else {
		stranger = stranger || !u.spawner.forkers.adopts(p.Parent) || !proc.HasTag(pid, w.tag())
	}
	if stranger {
		return &sessions.ForkError{Reason: fmt.Sprintf("the copy says that it is process %d, which is none of its copies", pid)}
	}
	return nil
}

// tag is what copies of the worker have. It is its line's, but for a branch that could
// neither take one nor be given one: where root without CAP_SYS_RESOURCE runs all code as
// one user, a branch keeps its original's. Where code may change its tag it is not asked.
func (w *worker) tag() uint64 {
	found, ok := proc.TagOf(w.process.pid)
	if ok && !w.spawner.registry.ByUser && w.spawner.nonce.Owns(found) {
		return found
	}
	return w.line.kin.Mark.Tag
}

// take makes the caller the one who decides about the copy.
func (u *understudy) take() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := !u.over
	u.over = true
	return taken
}

// letGo lets go of what the copy shares with its worker.
func (u *understudy) letGo() {
	if u.line != nil {
		u.line.release()
	}
	u.network.release()
}

// Dismiss closes the copy's socket, which ends it.
func (u *understudy) Dismiss() {
	if !u.take() {
		return
	}
	u.conn.Close()
	if u.line != nil {
		u.line.dismiss(u.process)
	}
	u.letGo()
}

// Exited is closed when the copy has ended.
func (u *understudy) Exited() <-chan struct{} { return u.process.exited }

// Usage says what the copy uses now.
func (u *understudy) Usage() (sessions.Usage, error) { return u.process.usage() }

// Rouse has the copy answer.
func (u *understudy) Rouse(ctx context.Context) error {
	u.mu.Lock()
	over := u.over
	u.mu.Unlock()
	if over {
		return errOver
	}
	u.body.signal(unix.SIGCONT) // somebody may have stopped it
	request, err := wire.Encode(wire.TypeRouse, wire.Empty{})
	if err == nil {
		err = u.conn.Ask(ctx, request, nil, wire.TypeReady, &wire.Ready{})
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && u.process.wait(ctx, proc.KillGrace) {
		err = fmt.Errorf("python %w", exitError(u.process.crash))
	}
	u.Dismiss()
	return err
}

var errOver = errors.New("the copy was woken or dismissed before")

// Wake makes the copy a worker.
func (u *understudy) Wake(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	if !u.take() {
		return nil, errOver
	}
	u.body.own()
	u.body.signal(unix.SIGCONT) // somebody may have stopped it
	var (
		w   *worker
		err error
	)
	if u.line != nil {
		w, err = u.follow(ctx, spec)
	} else {
		w, err = u.branch(ctx, spec)
	}
	if err != nil {
		return nil, fmt.Errorf("waking the copy: %w", err)
	}
	return w, nil
}

// follow takes the place of the worker, which is dead.
func (u *understudy) follow(ctx context.Context, spec sessions.Spec) (*worker, error) {
	u.line.kin.Follow(u.process.pid)
	u.process.lead(u.line.kin, u.line.fault)
	// The worker holds the line in our place.
	return u.lead(ctx, spec, u.line, wire.Wake{Mark: u.line.kin.Mark.Value}, nil)
}

// branch becomes the worker of another session, with descriptors and kin of its
// own.
func (u *understudy) branch(ctx context.Context, spec sessions.Spec) (*worker, error) {
	ends, output, err := pipes.OpenOutputs()
	if err != nil {
		u.process.kill("it could not be given descriptors")
		u.conn.Close()
		u.letGo()
		return nil, err
	}
	defer ends.Started()
	mark := u.spawner.newMark(spec.InterpreterID)
	proc.SetTag(u.process.pid, mark.Tag)
	kin := proc.NewKin(u.process.pid, mark, u.spawner.registry, u.log)
	u.process.lead(kin, ends.Fault)
	line := newLine(output, ends.Fault, kin)
	line.network = u.network
	return u.lead(ctx, spec, line, wire.Wake{Mark: mark.Value, Tag: mark.Tag}, ends.Child)
}

// lead makes the copy the worker that leads a line.
func (u *understudy) lead(ctx context.Context, spec sessions.Spec, l *line, message wire.Wake, descriptors []*os.File) (*worker, error) {
	w := u.spawner.newWorker(u.process, l)
	w.spec.Store(&spec)
	w.join(u.conn)
	message.InterpreterID, message.Workdir, message.PrivateDir = spec.InterpreterID, spec.Workdir, spec.PrivateDir
	if err := w.wake(ctx, message, descriptors); err != nil {
		return nil, errors.Join(err, w.Close(context.Background()))
	}
	return w, nil
}

// wake has the handshake with a copy that is to work.
func (w *worker) wake(ctx context.Context, message wire.Wake, descriptors []*os.File) error {
	request, err := wire.EncodeWith(wire.TypeWake, message, len(descriptors))
	if err != nil {
		return err
	}
	return w.begin(ctx, func() (ready wire.Ready, err error) {
		err = w.conn.Ask(context.Background(), request, descriptors, wire.TypeReady, &ready)
		return ready, err
	})
}
