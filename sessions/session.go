package sessions

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"understudy/sessions/output"
	"understudy/sessions/workdir"
)

// Why an execution is ended without grace.
var (
	errRestart = errors.New("a restart was asked for while the code ran")
	errEnd     = errors.New("it was deleted, or the server is stopping")
)

// Session is one Python interpreter of a client.
type Session struct {
	id      string // unique, and no name in it is only a word; see newID
	name    string // what its client calls it: its handle
	group   *workdir.Group
	dirs    *workdir.Dirs
	outputs string // the directory of its whole outputs
	python  string // which Python it runs, "" for the usual one
	options *Options
	log     *slog.Logger
	created time.Time

	life    context.Context // ends with the session
	endLife context.CancelFunc
	turn    turn
	running sync.WaitGroup // the goroutine of the running execution, of a start, of a branch being made

	parent string   // the id of the session that this one was branched from, or ""
	origin StateRef // the state that it was branched with

	introduced sync.Once // the Recorder has heard of it, or will not

	starting  atomic.Int64 // see startingSince
	initError string       // the traceback of the start-up code that its state began with, if that failed

	// pendingNotice is what became of the interpreter since the last result, lastWarning
	// the last reason that was told why its state can't be copied, and noop
	// the last execution if it left nothing that an undo could take back. They
	// belong to whoever has the turn.
	pendingNotice restartNote
	visits        visits // likewise
	lastWarning   string
	failing       string // why the last copy failed that nothing stood against
	noop          *noopFailure
	fatal         int // the last execution if it lost its process and nothing else ran since, or the last trial if it was buggy and is undone
	buggy         int // the last trial if it was buggy

	equipped equipped // likewise
	live     bool     // likewise: tasks of the worker's event loop go on

	timer   *time.Timer // of upkeep
	states  checkpoints
	history history
	images  *output.ImageRoom

	// worker belongs to whoever has the turn; mu guards reading it without.
	mu          sync.Mutex
	client      Client // whose it is; changed under the Manager's mu too
	worker      Worker
	count       int        // executions so far
	failures    int        // runs that have failed one after another, the last among them
	current     *execution // the running one, or nil
	wakes       time.Time  // when upkeep comes; zero: not before something is due
	nextCopy    time.Time  // no copy before it; changed by who has the turn
	sleepers    []*sleeper
	uncollected []*execution
	used        time.Time
	seizing     int    // callers of seize that wait for the turn
	resident    uint64 // bytes of the worker when it was last measured
	evictReason string // why the server ended it of its own accord; nobody enters then
	ended       bool
	endedAt     time.Time
	// sessionVariables are what plugins find. The map is not changed but replaced;
	// variablesSet counts how often.
	sessionVariables map[string]string
	variablesSet     int
	secrets          []string // all values that they have had; replaced, not changed
	// uploaded are the files that Upload has written, by their paths; kept where the
	// working directory is not the session's own.
	uploaded map[string]fs.FileInfo
	// agreements are the keys of the Consents that the user has given for it.
	agreements map[string]bool

	// Guarded by the Manager's mu.
	claimed      bool   // somebody asked for it, or has come back for it; see isUnclaimed
	abandoned    bool   // its client has left, and nobody has shown its id since
	comesFrom    string // where its client called from, see originOf
	conversation string // whose default it is, or was; "" for none
}

// newSession makes a session, a branch of parent's family unless that is nil.
func newSession(id string, client Client, options *Options, parent *Session) (*Session, error) {
	s := &Session{
		id: id, name: client.Handle(id), client: client, options: options,
		log: options.Logger.With("interpreter_id", id), created: time.Now(), used: time.Now(),
		sessionVariables: options.SessionVariables,
		images:           options.images.ForOne(),
	}
	s.life, s.endLife = context.WithCancel(context.Background())
	s.keepSecret(options.SessionVariables)
	s.turn.limit = options.Queue
	s.states.id = id
	s.states.startAfresh(0)
	s.timer = time.AfterFunc(time.Hour, s.upkeep)
	s.timer.Stop()
	key := keyOf(id) // no other session of this server has had it
	if parent == nil {
		s.group = options.roots.NewGroup(key)
	} else if s.group = parent.group; s.group.Join() != nil {
		return nil, parent.gone()
	}
	s.outputs, s.dirs = filepath.Join(options.Dir, key), s.group.NewDirs(key)
	if err := s.makeDirs(); err != nil {
		s.group.Leave(context.Background())
		return nil, err
	}
	return s, nil
}

// makeDirs makes the session's directories, as far as they are not there.
func (s *Session) makeDirs() error {
	if err := s.dirs.Make(); err != nil {
		return Errorf(CodeStart, "the interpreter's directories could not be made: %w; if it does not help to try again, delete the interpreter and create another", err)
	}
	return nil
}

// prepareSandbox has the session's wall made, if there is one, before anything runs.
func (s *Session) prepareSandbox(ctx context.Context) error {
	if err := s.dirs.PrepareSandbox(ctx); err != nil {
		return callerGone(ctx, Errorf(CodeStart, "the interpreter could not be confined: %w", err))
	}
	return nil
}

// packagesDir returns where the packages are that the session's group has installed
// for itself, "" where it has no home. An execution of kind RunsInstall makes one.
func (s *Session) packagesDir(kind Kind) (string, error) {
	home := s.group.Made()
	if home == "" && kind == RunsInstall {
		var err error
		if home, err = s.group.Home(); err != nil {
			return "", Errorf(CodeStart, "the interpreter's own directory could not be made: %w", err)
		}
	}
	if home == "" {
		return "", nil
	}
	return filepath.Join(home, workdir.Packages), nil
}

// codeDidNotRun is what a call to run code may say when it gives up.
const codeDidNotRun = "this code did not run"

// begin waits for the session's turn until then. Its error says what was not done.
func (s *Session) begin(ctx context.Context, until time.Time, notDone string) error {
	if e := s.runningNow(); e != nil && e.asksCaller() {
		return s.busy(notDone) // it ends by no waiting
	}
	room, err := s.turn.acquire(ctx, until)
	switch {
	case !room:
		return Errorf(CodeBusy, "%d calls wait for interpreter %q already; wait for them, or create another interpreter", s.options.Queue, s.name)
	case errors.Is(err, context.DeadlineExceeded):
		return s.busy(notDone)
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
	if s.ended || s.evictReason != "" {
		s.turn.release()
		return s.missing()
	}
	s.used = time.Now()
	return nil
}

// beginIdle waits for the turn of a session that runs nothing, and refuses
// while it runs something.
func (s *Session) beginIdle(ctx context.Context, notDone string) error {
	if s.runningNow() != nil {
		return s.busy(notDone)
	}
	if err := s.begin(ctx, time.Now().Add(s.options.Wait), notDone); err != nil {
		return callerGone(ctx, err)
	}
	return nil // with the turn, whatever has become of the caller
}

// gone says that the session is no more.
func (s *Session) gone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing()
}

// missing is gone for a caller that holds mu.
func (s *Session) missing() error {
	if s.evictReason != "" {
		return ended(s.name, s.evictReason)
	}
	return notFound(s.name)
}

// start begins an execution. The caller has the turn and gives it away: to the
// execution, to a slow start, or back.
func (s *Session) start(ctx context.Context, until time.Time, r RunRequest) (e *execution, err error) {
	kept := false
	defer func() {
		if err != nil && !kept {
			s.turn.release()
		}
	}()
	s.introduce()
	judged, compileOnly, err := s.verify(ctx, r)
	if err != nil && r.Operator {
		return nil, err // no failure of the agent's
	}
	if err != nil {
		return nil, s.refused(err)
	}
	if r.Reset {
		if err := s.mayBeginAfresh(ctx, r); err != nil {
			return nil, err
		}
		s.discardState(ctx)
	} else {
		s.revive()
	}
	if kept, err = s.awaitWorker(ctx, until); err != nil {
		return nil, callerGone(ctx, err)
	}
	s.keep("") // a copy that died, or is missing after a revival
	if err := s.renewCopy(ctx); err != nil {
		return nil, callerGone(ctx, err)
	}
	if err := s.equip(ctx); err != nil {
		return nil, callerGone(ctx, Errorf(CodeStart, "the interpreter did not take its plugins: %w; restart it", err))
	}
	packages, err := s.packagesDir(r.kind())
	if err != nil {
		return nil, err
	}
	number := s.ran() + 1 // only who has the turn changes it
	e = newExecution(number, r, s.newTranscript(number), s.lineage())
	e.tools = newToolCalls(s, e)
	e.request.Judged, e.request.CompileOnly, e.request.PackagesDir = judged, compileOnly, packages
	if err := s.announce(ctx, e); err != nil {
		return nil, err
	}
	if s.options.Trace != nil {
		e.life, e.traced = s.options.Trace(ctx, e.life, s.id, number)
	}
	if err := s.launch(e); err != nil {
		s.withdraw(e)
		return nil, err
	}
	return e, nil
}

// launch has e run from here on, with the turn that the caller has.
func (s *Session) launch(e *execution) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return s.missing()
	}
	if s.seizing > 0 { // it would be killed at once
		return Errorf(CodeBusy, "interpreter %q is being restarted; this code did not run. Run it again", s.name)
	}
	s.count = e.number
	e.waiters = 1
	s.history.add(e)
	s.current = e
	if s.options.Recorder != nil {
		s.wakeByLocked(e.started.Add(unrecordedFor))
	}
	before := s.pendingNotice
	if !e.operator { // else the owner has still to hear of it
		before.notes = append(slices.Clone(before.notes), s.visits.inWords()...)
		s.pendingNotice, s.visits = restartNote{}, visits{}
	}
	if e.number == 1 && s.python == "" { // else who made it has chosen, and been told
		before.notes = append(slices.Clone(before.notes), s.worker.Info().Introduction...)
	}
	s.running.Go(func() { s.execute(e, before) })
	return nil
}

// verify asks whether the code may run. Code that is no valid Python may not, but
// Python is to say so.
func (s *Session) verify(ctx context.Context, r RunRequest) (judged Judged, compileOnly bool, err error) {
	if s.options.Verifier == nil {
		return Judged{}, false, nil
	}
	judged, err = s.options.Verifier.Verify(ctx, s.owner(), r.kind(), r.Code)
	if errors.Is(err, ErrSyntax) {
		return Judged{}, true, nil
	}
	return judged, false, err
}

// end stops what runs, ends the worker and removes the session's files.
func (s *Session) end(ctx context.Context) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended, s.endedAt = true, time.Now()
	s.endLife()
	if s.current != nil {
		s.current.end(errEnd)
	}
	s.mu.Unlock()

	err := s.turn.claim(ctx) // those in the queue find that it ended
	if err != nil {          // whoever has it finds the worker dead
		s.kill()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		err = s.turn.claim(late)
		cancel()
	}
	s.running.Wait()
	s.timer.Stop() // only now: who waits for what can't be killed is answered in time
	s.states.end()
	s.images.Close()
	s.dropWorker(ctx)
	if err == nil {
		s.turn.release()
	}
	s.saveEnded()
	s.removeFiles(ctx) // last: a session whose files are gone has nothing left to do
	s.group.Leave(ctx)
}

// removeFiles removes what was the session's own, but for what is to stay.
func (s *Session) removeFiles(ctx context.Context) {
	err := s.dirs.Remove(ctx)
	if s.options.KeepFiles || s.options.KeepWorkdirs {
		_ = os.Remove(filepath.Join(s.outputs, "executions")) // it stays while something is in it
		_ = os.Remove(s.outputs)
	} else {
		err = errors.Join(err, os.RemoveAll(s.outputs))
	}
	if err != nil {
		s.log.Warn("removing the session's files", "error", err)
	}
}

// evict ends the session's use, for the reason why, unless a call uses it or
// waits for it. Who evicted it ends it.
func (s *Session) evict(why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.evictReason != "" || s.current != nil || !s.turn.idle() {
		return false
	}
	s.evictReason = why
	return true
}

// lastUsed returns when a call last used the session, or now while one does.
func (s *Session) lastUsed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil || !s.turn.idle() {
		return time.Now()
	}
	return s.used
}
