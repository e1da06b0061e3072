package sessions

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// closeTime bounds an orderly end of a worker; past it, it is killed.
const closeTime = 3 * time.Second

// startPatience is how long a call waits at least for its interpreter to
// start: a call that is to answer at once would never get one otherwise.
const startPatience = 10 * time.Second

// maxUncollected is how many finished executions a session keeps for callers
// that stopped waiting for them.
const maxUncollected = 16

// Why an execution is ended without grace.
var (
	errRestart = errors.New("a restart was asked for while the code ran")
	errEnd     = errors.New("it was deleted, or the server is stopping")
)

// Session is one Python interpreter of a client.
type Session struct {
	id      string
	client  Client
	dir     string // ours: output files, and the working directory unless it is shared
	workdir string
	options *Options
	log     *slog.Logger
	created time.Time

	life    context.Context // ends with the session
	endLife context.CancelFunc
	turn    turn
	running sync.WaitGroup // the goroutine of the running execution, or of a start

	// lost says why the variables are gone, until an execution's result has
	// said it. It belongs to whoever has the turn.
	lost string

	// worker belongs to whoever has the turn; mu guards reading it without.
	mu          sync.Mutex
	worker      Worker
	count       int        // executions so far
	current     *execution // the running one, or nil
	uncollected []*execution
	used        time.Time
	seizing     int // callers of seize that wait for the turn
	ended       bool
}

func newSession(id string, client Client, options *Options) (*Session, error) {
	s := &Session{
		id: id, client: client, options: options,
		dir: filepath.Join(options.Dir, id), workdir: options.Workdir,
		log: options.Logger.With("interpreter_id", id), created: time.Now(), used: time.Now(),
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	s.turn.limit = options.Queue
	if s.workdir == "" {
		s.workdir = filepath.Join(options.WorkdirRoot, id)
	}
	if err := os.MkdirAll(s.workdir, 0o700); err != nil {
		return nil, Errorf(CodeStart, "the working directory could not be made: %w", err)
	}
	return s, nil
}

// begin waits for the session's turn as long as ctx allows.
func (s *Session) begin(ctx context.Context) error {
	room, err := s.turn.acquire(ctx)
	switch {
	case !room:
		return Errorf(CodeBusy, "%d calls wait for interpreter %q already; wait for them, or create another interpreter", s.options.Queue, s.id)
	case errors.Is(err, context.DeadlineExceeded):
		return s.busy()
	case err != nil:
		return err
	}
	return s.entered()
}

// seize stops what runs and takes the turn ahead of all who wait for it.
func (s *Session) seize(ctx context.Context) error {
	s.mu.Lock()
	s.seizing++
	if s.current != nil {
		s.current.end(errRestart)
	}
	s.mu.Unlock()

	err := s.turn.claim(ctx)

	s.mu.Lock()
	s.seizing--
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.entered()
}

// entered notes that the session is used by who has just got its turn, which
// goes on if the session has ended meanwhile.
func (s *Session) entered() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		s.turn.release()
		return notFound(s.id)
	}
	s.used = time.Now()
	return nil
}

// busy says that nothing ran, since when something else runs, and what to do.
func (s *Session) busy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return Errorf(CodeBusy, "interpreter %q is busy; this code did not run. Try again, or create another interpreter", s.id)
	}
	return Errorf(CodeBusy, "interpreter %q is busy: execution %d has been running for %s (limit %s); this code did not run. Call manage_interpreters with operation \"wait\" to go on waiting for it or \"interrupt\" to stop it, or create another interpreter",
		s.id, s.current.number, InWords(time.Since(s.current.started)), InWords(s.current.limit))
}

// ensureWorker starts a worker unless a live one is there. The caller has the turn.
func (s *Session) ensureWorker(ctx context.Context) error {
	if s.worker != nil {
		return nil
	}
	w, err := s.options.Starter.Start(ctx, Spec{InterpreterID: s.id, Workdir: s.workdir, FirstExecution: s.count + 1})
	if err != nil {
		return callerGone(ctx, Errorf(CodeStart, "the Python interpreter could not be started: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended { // whoever ended it will not see this worker
		w.Kill()
		s.closeWorker(ctx, w)
		return notFound(s.id)
	}
	s.worker = w
	return nil
}

// dropDead drops the worker if it died while nothing ran, and keeps the reason.
func (s *Session) dropDead(ctx context.Context) {
	if s.worker == nil {
		return
	}
	select {
	case <-s.worker.Exited():
	default:
		return
	}
	reason := "the interpreter's process ended between two calls"
	var crash *CrashError
	if _, err := s.worker.Run(ctx, Request{Execution: s.count + 1}, newTranscript(s.dir, s.options)); errors.As(err, &crash) {
		reason += ": " + crash.Reason
	}
	s.dropWorker(ctx)
	s.lost = reason
}

// dropWorker ends the worker, if there is one. The caller has the turn.
func (s *Session) dropWorker(ctx context.Context) {
	s.mu.Lock()
	w := s.worker
	s.worker = nil
	s.mu.Unlock()
	if w != nil {
		s.closeWorker(ctx, w)
	}
}

func (s *Session) closeWorker(ctx context.Context, w Worker) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		s.log.Warn("ending worker", "error", err)
	}
}

// renounce drops the worker and its variables because that was asked for, so
// that nothing is to be said of it. The caller has the turn.
func (s *Session) renounce(ctx context.Context) {
	s.dropWorker(ctx)
	s.lost = ""
}

// awaitWorker sees that a worker is there. A start that takes longer than the
// call waits goes on without it and keeps the turn; kept says so.
func (s *Session) awaitWorker(ctx, waiting context.Context) (kept bool, err error) {
	if s.worker != nil {
		return false, nil
	}
	started, abandoned := make(chan error), make(chan struct{})
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return false, notFound(s.id)
	}
	s.running.Go(func() {
		err := s.ensureWorker(s.life)
		select {
		case started <- err:
		case <-abandoned:
			s.log.Info("the interpreter of a call that waits no more is ready", "error", err)
			s.turn.release()
		}
	})
	s.mu.Unlock()
	patient, cancel := context.WithDeadline(ctx, later(waiting))
	defer cancel()
	select {
	case err := <-started:
		return false, err
	case <-patient.Done():
		close(abandoned)
		return true, Errorf(CodeBusy, "interpreter %q is still starting; this code did not run. Run it again in a few seconds", s.id)
	}
}

// later returns the end of a call's waiting, or of startPatience if that is later.
func later(waiting context.Context) time.Time {
	deadline, _ := waiting.Deadline()
	if soonest := time.Now().Add(startPatience); deadline.Before(soonest) {
		return soonest
	}
	return deadline
}

// start begins an execution. The caller has the turn and gives it away: to the
// execution, to a slow start, or back.
func (s *Session) start(ctx, waiting context.Context, r RunRequest) (e *execution, err error) {
	kept := false
	defer func() {
		if err != nil && !kept {
			s.turn.release()
		}
	}()
	if s.options.Verifier != nil {
		if err := s.options.Verifier.Verify(ctx, s.client, r.Code); err != nil {
			return nil, err
		}
	}
	s.dropDead(ctx)
	if r.Reset {
		s.renounce(ctx)
	}
	if kept, err = s.awaitWorker(ctx, waiting); err != nil {
		return nil, callerGone(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, notFound(s.id)
	}
	if s.seizing > 0 { // it would be killed at once
		return nil, Errorf(CodeBusy, "interpreter %q is being restarted; this code did not run. Run it again", s.id)
	}
	s.count++
	dir := filepath.Join(s.dir, "executions", strconv.Itoa(s.count))
	e = newExecution(s.count, r, newTranscript(dir, s.options))
	s.current = e
	restarted := s.lost
	s.lost = ""
	s.running.Go(func() { s.execute(e, restarted) })
	return e, nil
}

// finished notes that e is over and waits to be collected.
func (s *Session) finished(e *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	s.used = time.Now()
	s.uncollected = append(s.uncollected, e)
	if over := len(s.uncollected) - maxUncollected; over > 0 {
		s.uncollected = s.uncollected[over:]
	}
}

// collect hands out e's result if nobody has it yet.
func (s *Session) collect(e *execution) *Result {
	s.mu.Lock()
	for i, other := range s.uncollected {
		if other == e {
			s.uncollected = append(s.uncollected[:i:i], s.uncollected[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	return e.collect()
}

// pending returns the execution a wait is for: the oldest whose result nobody
// has, else the running one, else the oldest whose call was cancelled: it must
// not be taken for the one that runs. Nil if there is none.
func (s *Session) pending() *execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.uncollected {
		if !e.abandoned.Load() {
			return e
		}
	}
	if s.current == nil && len(s.uncollected) > 0 {
		return s.uncollected[0]
	}
	return s.current
}

// end stops what runs, ends the worker and removes the session's files.
func (s *Session) end(ctx context.Context) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.endLife()
	if s.current != nil {
		s.current.end(errEnd)
	}
	s.mu.Unlock()

	err := s.turn.claim(ctx) // those in the queue find that it ended
	if err != nil {
		s.kill()
	}
	s.running.Wait()
	s.dropWorker(ctx)
	if err == nil {
		s.turn.release()
	}
	s.removeFiles()
}

// kill ends the worker by force, whoever has the turn.
func (s *Session) kill() {
	s.mu.Lock()
	w := s.worker
	s.mu.Unlock()
	if w != nil {
		w.Kill()
	}
}

func (s *Session) removeFiles() {
	remove := []string{s.dir}
	if s.options.Workdir == "" && !s.options.KeepWorkdirs {
		remove = append(remove, s.workdir)
	}
	for _, dir := range remove {
		if err := os.RemoveAll(dir); err != nil {
			s.log.Warn("removing the session's files", "dir", dir, "error", err)
		}
	}
}

// listing describes the session to its owner.
func (s *Session) listing() Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	l := Listing{
		ID: s.id, Status: "idle", Executions: s.count, Waiting: s.turn.queued(),
		Created: s.created, LastUsed: s.used, Workdir: s.workdir,
		Age: now.Sub(s.created).Seconds(), Idle: now.Sub(s.used).Seconds(),
	}
	if s.current != nil {
		l.Status, l.Running, l.Idle = "running", s.current.number, 0
	}
	if s.worker != nil {
		info := s.worker.Info()
		l.PID, l.Python, l.InitError = info.PID, info.Python, info.InitError
		if usage, err := s.worker.Usage(); err == nil {
			l.Memory = usage.Memory
		}
	}
	return l
}

// idleSince returns when the session was last in use; false while it is.
func (s *Session) idleSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.current == nil && s.turn.queued() == 0
}
