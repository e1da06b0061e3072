package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"understudy/internal/phrase"
	"understudy/sessions/output"
)

// Manager owns all sessions and knows which client each belongs to.
type Manager struct {
	options *Options
	stop    chan struct{} // closed by Close
	reaper  sync.WaitGroup

	locating sync.Mutex // one asks where sessions work; before mu

	mu       sync.Mutex
	sessions map[string]*Session
	owned    map[Client]map[*Session]bool // Anonymous has those that belong to nobody
	calls    map[Client]map[*inflightCall]bool
	defaults map[defaultKey]*Session
	numbers  map[Client]int // how many names were given to sessions of clients that are not keyed
	endings  endings
	closed   bool
	// whereabouts is what the first answer is to say of the working directory.
	whereabouts string
	introduced  bool // the first answer has said what Tenancy says

	departures departures
}

// maxCode is how many bytes of code one call may hold: far less than what a
// worker refuses to read.
const maxCode = 10 << 20

// RunRequest is one call that runs something.
type RunRequest struct {
	Kind          Kind            // "" is RunsCode
	Code          string          // as in Request
	Arguments     json.RawMessage // as in Request
	InterpreterID string          // "" is the client's default session, for Anonymous a new one
	ResultVarName string          // "" asks for no variable
	Timeout       time.Duration   // 0 is the default
	Wait          time.Duration   // 0 is the default; negative answers at once
	Reset         bool            // fresh variables first
	Trial         *Trial          // nil for what is no trial of an experiment
	Progress      func(Progress)
	Asking        Asking // for the code's questions

	Operator bool // it is the Operator's, not the session's owner's; Run sees to it
}

func (r RunRequest) kind() Kind {
	if r.Kind == "" {
		return RunsCode
	}
	return r.Kind
}

// WaitRequest is one call that goes on waiting for an execution.
type WaitRequest struct {
	InterpreterID string        // "" is the client's default session
	Wait          time.Duration // as in RunRequest
	Progress      func(Progress)
	Asking        Asking
	// Answer is the reply to a question that an earlier call returned with, and
	// says which execution is meant.
	Answer *Answer
	// Lines are for the question that the code waits with, and the next ones.
	Lines []string
}

// NewManager returns a Manager; Close ends it.
func NewManager(options Options) *Manager {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	options.tally, options.roots, options.images = &tally{}, options.newRoots(), output.AllImages()
	m := &Manager{
		options: &options, stop: make(chan struct{}),
		sessions: map[string]*Session{}, owned: map[Client]map[*Session]bool{}, calls: map[Client]map[*inflightCall]bool{}, defaults: map[defaultKey]*Session{}, numbers: map[Client]int{}, departures: departures{},
	}
	if options.IdleTTL > 0 || options.AbandonedTTL > 0 {
		m.reaper.Go(m.reapIdle)
	}
	return m
}

// Run runs code in a session of the client's, making its default session when none is
// named. When the code takes longer than the call wishes to wait, the result's status is
// StatusRunning and the code runs on. Its errors are CodeInvalid, CodeNotFound, CodeLimit,
// CodeBusy, CodeRefused, CodeStart and CodeClosed.
func (m *Manager) Run(ctx context.Context, client Client, r RunRequest) (*Result, error) {
	if r.Timeout == 0 {
		r.Timeout = m.options.Timeout
	}
	switch most := m.options.MaxTimeout; {
	case r.Timeout < 0 && most == 0:
		return nil, Errorf(CodeInvalid, "timeout must be more than 0 seconds, not %g", r.Timeout.Seconds())
	case r.Timeout < 0, most > 0 && r.Timeout > most:
		return nil, Errorf(CodeInvalid, "timeout must be more than 0 and at most %g seconds, not %g", most.Seconds(), r.Timeout.Seconds())
	}
	if len(r.Code) > maxCode {
		return nil, Errorf(CodeInvalid, "code is %d bytes long, and at most %d are taken; put large data into a file and let the code read it", len(r.Code), maxCode)
	}
	if len(r.Arguments) > maxCode {
		return nil, Errorf(CodeInvalid, "the arguments are %d bytes long, and at most %d are taken; put large data into a file and pass its path", len(r.Arguments), maxCode)
	}
	r.Operator = client == Operator
	ctx, depart := m.follow(ctx, client)
	defer depart()
	until := m.answerBy(r.Wait)
	watch := m.newWatch(r.Progress)
	defer watch.end()

	notDone := codeDidNotRun
	if r.Reset {
		notDone += `, and nothing was reset ("restart" ends what runs and begins anew)`
	}
	s, err := m.enter(ctx, until, client, r.InterpreterID, notDone)
	if err != nil {
		return nil, callerGone(ctx, err)
	}
	result, err := s.call(ctx, until, r, watch)
	if err != nil && client == Anonymous && r.InterpreterID == "" && CodeOf(err) != CodeBusy {
		m.discard(ctx, s)
	}
	if err == nil {
		m.noteWhereDefined(ctx, client, s, result)
	}
	return result, err
}

// call runs code in the session, whose turn the caller has.
func (s *Session) call(ctx context.Context, until time.Time, r RunRequest, watch *watch) (*Result, error) {
	e, err := s.start(ctx, until, r)
	if err != nil {
		return nil, err
	}
	watch.follow(e)
	result, err := s.await(ctx, until, e, r.Asking)
	if err != nil {
		return nil, err
	}
	if !e.operator { // those of the agent's
		result.note(s.overdue(e)...)
	}
	return result, nil
}

// Await goes on waiting for an execution of the session: the one whose question is
// answered, else the oldest that finished without anyone taking its result, else the
// running one. Its errors are CodeInvalid and CodeNotFound.
func (m *Manager) Await(ctx context.Context, client Client, r WaitRequest) (*Result, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, r.InterpreterID)
	if err != nil {
		return nil, err
	}
	late := false
	if len(r.Lines) > 0 {
		if r.Answer, late, err = s.give(r.Lines, client == Operator); err != nil {
			return nil, err
		}
	}
	e, err := s.meant(r.Answer, client == Operator)
	if errors.Is(err, errPrinted) {
		return s.printedBetween(), nil
	}
	if err != nil {
		return nil, err
	}
	until := m.answerBy(r.Wait)
	watch := m.newWatch(r.Progress)
	defer watch.end()
	watch.follow(e)
	result, err := s.await(ctx, until, e, r.Asking)
	if err != nil {
		return nil, err
	}
	if late {
		result.note("the text came too late: nothing asks any more")
	}
	s.head(result)
	m.noteWhereDefined(ctx, client, s, result)
	return result, nil
}

// await waits for e's end until that time, then tells how it stands. The
// caller's going away interrupts the execution.
func (s *Session) await(ctx context.Context, until time.Time, e *execution, asking Asking) (*Result, error) {
	defer s.leaveExecution(e)
	question := s.answerQuestions(ctx, until, e, asking)
	if err := ctx.Err(); err != nil { // a result must not go to a caller that has left
		switch {
		case !hasLeft(ctx):
			e.abandon()
		case s.options.InterruptOnLeave:
			e.requestStop(stoppedByLeave)
		}
		return nil, err
	}
	if question != nil {
		s.noteRunning(e)
		return e.asks(s.name, question, asking), nil
	}
	select {
	case <-e.done:
		if r := s.collect(e); r != nil {
			return r, nil
		}
		return nil, Errorf(CodeInvalid, "the result of execution %d was returned to another call", e.number)
	default:
		s.noteRunning(e)
		return e.snapshot(s.name), nil
	}
}

// CreateRequest says what a new session is to be.
type CreateRequest struct {
	// InterpreterID is the name that the client wishes for it; "" leaves that to us.
	InterpreterID string
	// Python says which Python it runs, a name that Options.CheckPython takes; "" is
	// the server's usual one.
	Python string
}

// Create makes another session for the client and starts its interpreter. Its errors are
// CodeInvalid, CodeLimit, CodeStart and CodeClosed.
func (m *Manager) Create(ctx context.Context, client Client, r CreateRequest) (Listing, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	if err := checkName(r.InterpreterID); err != nil {
		return Listing{}, err
	}
	s, err := m.add(ctx, client, birth{name: r.InterpreterID, python: r.Python})
	if err != nil {
		return Listing{}, err
	}
	if err := s.prepare(ctx); err != nil {
		m.forget(s)
		s.end(context.WithoutCancel(ctx))
		return Listing{}, err
	}
	return m.describe(s), nil
}

// prepare waits for the turn and sees that a worker is there.
func (s *Session) prepare(ctx context.Context) error {
	if err := s.begin(ctx, time.Now().Add(s.options.Wait), "no interpreter was started"); err != nil {
		return callerGone(ctx, err)
	}
	defer s.turn.release()
	return s.ensureWorker(ctx)
}

// Restart gives a session a fresh interpreter; running code is stopped, and calls that wait
// for their turn get it afterwards. Its errors are CodeNotFound, CodeInvalid and CodeStart.
func (m *Manager) Restart(ctx context.Context, client Client, id string) (Listing, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, id)
	if err != nil {
		return Listing{}, err
	}
	if err := s.seize(ctx); err != nil {
		return Listing{}, err
	}
	defer s.turn.release()
	s.discardState(ctx)
	if err := s.ensureWorker(ctx); err != nil {
		return Listing{}, err
	}
	return m.describe(s), nil
}

// List describes the client's sessions, oldest first; Anonymous has none, and the
// Operator sees all. It waits for no call; where there are very many, the last show the
// memory that was last measured. There is no error of its own.
func (m *Manager) List(ctx context.Context, client Client) ([]Listing, error) {
	all := m.visible(client)
	sortByAge(all)
	listings := m.inspect(ctx, all)
	for i := range listings {
		if client == Operator {
			listings[i].Client, listings[i].Key = all[i].owner(), all[i].id
		}
	}
	return listings, nil
}

// inspect describes sessions as fully as can be done in a moment.
func (m *Manager) inspect(ctx context.Context, all []*Session) []Listing {
	patience, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	listings := make([]Listing, 0, len(all))
	for _, s := range all {
		s.awaitCopy(patience)
		l := m.describe(s)
		if patience.Err() == nil {
			s.measure(&l)
		}
		listings = append(listings, l)
	}
	return listings
}

// Farewell says what became of the client's default session when the server
// ended it and there is no new one yet, else "".
func (m *Manager) Farewell(client Client) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.defaults[defaultKey{client: client}] != nil {
		return ""
	}
	return m.endings.farewell(defaultKey{client: client})
}

// Delete ends a session and all its processes. Its errors are CodeInvalid and CodeNotFound.
func (m *Manager) Delete(ctx context.Context, client Client, id string) error {
	if id == "" {
		return Errorf(CodeInvalid, "interpreter_id is required for delete operation")
	}
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, id)
	if err != nil {
		return err
	}
	m.forget(s)
	s.end(context.WithoutCancel(ctx)) // half an end would leave processes
	return nil
}

// Interrupt stops the running execution and says what that did. Its result is still there
// for the call that waits for it. Its errors are CodeInvalid and CodeNotFound.
func (m *Manager) Interrupt(ctx context.Context, client Client, id string) (*Interruption, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, id)
	if err != nil {
		return nil, err
	}
	e := s.runningNow()
	if e == nil || client == Operator && !e.operator { // whose prompt is not for that
		i := &Interruption{InterpreterID: s.name, StateKept: true, Message: "nothing was running"}
		if client != Operator {
			i.Notes = s.overdue(nil)
		}
		return i, nil
	}
	elapsed := time.Since(e.started)
	e.requestStop(stoppedByAgent)
	select {
	case <-e.done:
		i := e.interruption(s.name, elapsed, s.whoGets(e))
		if client != Operator {
			i.Notes = s.overdue(e)
		}
		return i, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Variables describes the variables of an idle session, and what else its code has defined.
// The notes are what the reader should know beside. Its errors are CodeInvalid,
// CodeNotFound, CodeBusy and CodeStart.
func (m *Manager) Variables(ctx context.Context, client Client, id string) (names Namespace, notes []string, err error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, id)
	if err != nil {
		return names, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, m.options.Wait)
	defer cancel()
	if err := s.begin(waiting, m.answerBy(0), "its variables were not listed"); err != nil {
		return names, nil, callerGone(ctx, err)
	}
	defer s.leave()
	s.revive()
	s.keep("") // their descriptions run code of theirs
	names, err = s.variables(waiting)
	var crash *CrashError
	if errors.As(err, &crash) { // the worker has died this moment
		s.replace(ctx)
		names, err = s.variables(waiting)
	}
	switch {
	case errors.As(err, &crash):
		return names, nil, Errorf(CodeStart, "the interpreter's process has just ended (%s); try again", crash.Reason)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return names, nil, Errorf(CodeBusy, "interpreter %q did not list its variables within %s; try again, or look at them with code", s.name, phrase.Duration(m.options.Wait))
	case err != nil:
		return names, nil, err
	}
	return names, append(s.pendingNotice.inWords(), s.overdue(nil)...), nil
}

// variables asks the worker for them. The caller has the turn.
func (s *Session) variables(ctx context.Context) (Namespace, error) {
	w := s.lead()
	if lost := s.pendingNotice; w == nil && lost.reason != "" && !lost.restored {
		return Namespace{}, Errorf(CodeStart, "%s, and its variables are lost; the next run_python_code starts a fresh one", lost.reason)
	}
	if w == nil {
		return Namespace{}, nil // not started yet: no variables
	}
	return w.Variables(ctx)
}

// EndClient ends all sessions of a client that has left.
func (m *Manager) EndClient(ctx context.Context, client Client) {
	own := m.ownedBy(client)
	for _, s := range own {
		m.forget(s)
	}
	endAll(ctx, own) // and with them its calls
}

// Close ends every session. No process is left when it returns.
func (m *Manager) Close(ctx context.Context) {
	m.mu.Lock()
	already := m.closed
	m.closed = true
	var all []*Session
	for _, s := range m.sessions {
		all = append(all, s)
		m.remove(s)
	}
	m.mu.Unlock()
	if !already {
		close(m.stop)
	}
	m.reaper.Wait()
	endAll(ctx, all)
	m.options.roots.Close()
}

// endAtOnce is how many sessions are ended at the same time. A thousand that
// compete for two cores would all miss the time that each has for an orderly end.
const endAtOnce = 16

func endAll(ctx context.Context, all []*Session) {
	var wg sync.WaitGroup
	room := make(chan struct{}, endAtOnce)
	for _, s := range all {
		room <- struct{}{}
		wg.Go(func() {
			s.end(ctx)
			<-room
		})
	}
	wg.Wait()
}

// enter waits, until that time, for the turn of the named session, or
// of the client's default. A default that was reaped in that moment gives way to
// a new one.
func (m *Manager) enter(ctx context.Context, until time.Time, client Client, id, notDone string) (*Session, error) {
	for {
		s, err := m.session(ctx, client, id)
		if err != nil {
			return nil, err
		}
		err = s.begin(ctx, until, notDone)
		if id == "" && CodeOf(err) == CodeNotFound {
			continue
		}
		return s, err
	}
}

func (m *Manager) forget(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(s)
}

func (m *Manager) describe(s *Session) Listing {
	l := s.listing()
	m.mu.Lock()
	defer m.mu.Unlock()
	l.Default = m.defaults[s.defaultKey()] == s
	return l
}

// answerBy is when a call answers at the latest that asks to wait so long.
func (m *Manager) answerBy(wait time.Duration) time.Time {
	return time.Now().Add(max(0, cmp.Or(wait, m.options.Wait)))
}

// callerGone prefers the caller's own end as the reason of err.
func callerGone(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("the call was cancelled: %w", cause)
	}
	return err
}
