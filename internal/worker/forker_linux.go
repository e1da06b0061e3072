package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/worker/wire"
)

const (
	// forkerPatience is how long a forker may take for an answer: a fork takes
	// milliseconds, so one that takes longer is stopped, or lost.
	forkerPatience = 3 * time.Second
	// preloadPatience is how long the imports of a zygote may take.
	preloadPatience = 2 * time.Minute
)

// A forker is a Python process that forks workers and runs no user code: the
// root, or a zygote.
type forker struct {
	name    string
	process *process
	conn    *wire.Conn
	// turn is held by the one request that is under way.
	turn chan struct{}
}

func newForker(name string, p *process, stream net.Conn) *forker {
	f := &forker{name: name, process: p, conn: wire.NewConn(stream, p.log), turn: make(chan struct{}, 1)}
	return f
}

// watch ends the conversation when the process has ended.
func (f *forker) watch() {
	<-f.process.exited
	f.conn.Shut()
}

// hear waits for the first word of a new forker, which is ended if it does not
// come.
func (f *forker) hear(ctx context.Context, patience time.Duration, kind string, message any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the %s was not ready within %s", f.name, patience))
	defer cancel()
	err := f.conn.Expect(ctx, kind, message)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	f.letGo()
	if !f.process.wait(context.Background(), hangUpGrace) {
		f.process.kill("it was not ready in time")
	}
	if f.process.hasExited() && ctx.Err() == nil {
		err = errors.Join(err, exitError(f.process.crash))
	}
	return err
}

// ask makes one request. A forker that does not answer is ended: whoever tends
// it starts another.
func (f *forker) ask(kind string, message any, descriptors []*os.File, answerKind string, answer any) error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	request, err := wire.EncodeWith(kind, message, len(descriptors))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), forkerPatience)
	defer cancel()
	f.conn.LimitWrites(forkerPatience)
	if answerKind == "" {
		err = f.conn.Pass(request, descriptors)
	} else {
		err = f.conn.Ask(ctx, request, descriptors, answerKind, answer)
	}
	if err != nil {
		f.process.kill(fmt.Sprintf("it did not answer: %v", err))
		return fmt.Errorf("asking the %s to %s: %w", f.name, kind, err)
	}
	return nil
}

// spawn has it fork a process that gets the descriptors.
func (f *forker) spawn(message wire.Spawn, descriptors []*os.File) (pid int, err error) {
	var answer wire.Spawned
	if message.Preload == nil {
		message.Preload = []string{}
	}
	if err := f.ask(wire.TypeSpawn, message, descriptors, wire.TypeSpawned, &answer); err != nil {
		return 0, err
	}
	if answer.PID <= 0 {
		return 0, fmt.Errorf("the %s could not fork: %s", f.name, answer.Reason)
	}
	return answer.PID, nil
}

// adopt tells it that a process is reaped on request only.
func (f *forker) adopt(pid int) { _ = f.ask(wire.TypeAdopt, wire.Child{PID: pid}, nil, "", nil) }

// reap has it reap its dead child.
func (f *forker) reap(pid int) (syscall.WaitStatus, bool) {
	var answer wire.Reaped
	if f.ask(wire.TypeReap, wire.Child{PID: pid}, nil, wire.TypeReaped, &answer) != nil || answer.Status < 0 {
		return 0, false
	}
	return syscall.WaitStatus(answer.Status), true
}

// discard ends a process that it has just forked and that nobody can look after.
// What it is asked to reap it forgets, and reaps by itself when it is dead.
func (f *forker) discard(pid int) {
	_ = unix.Kill(pid, unix.SIGKILL) // not reaped yet, so it is that one
	f.reap(pid)
}

func (f *forker) alive() bool { return !f.process.hasExited() }

// letGo tells it to end. Were its socket closed without a word the server would be
// dead, and all that its workers have started were to be ended.
func (f *forker) letGo() {
	f.conn.SayStop()
	f.conn.Close()
}

// close lets it go: it ends, and the root ends all its descendants first.
func (f *forker) close(ctx context.Context) {
	f.letGo()
	if !f.process.wait(ctx, proc.KillGrace) {
		f.process.kill("ended by the server")
	}
}

// logLines writes what a forker prints (a library's warning at its import, for
// one) to the log, until it has ended: somebody else may hold the pipe open.
func logLines(pipe *os.File, ended <-chan struct{}, log *slog.Logger) {
	defer pipe.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ended:
			_ = pipe.SetReadDeadline(time.Now()) // what is there is read all the same
		case <-done:
		}
	}()
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			log.Info("python says", "text", text)
		}
		if err != nil {
			return
		}
	}
}
