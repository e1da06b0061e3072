package sessions

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"understudy/internal/check"
)

// fakeStarter starts fakeWorkers.
type fakeStarter struct {
	start func(Spec) (*fakeWorker, error)
	forks bool // its workers can be copied
	// forking, if set, may refuse a copy or hang; rousing and waking likewise.
	forking func(ctx context.Context, w *fakeWorker, purpose Purpose) error
	rousing func(ctx context.Context, u *fakeUnderstudy) error
	waking  func(ctx context.Context, u *fakeUnderstudy) error
	// examining, if set, may fail the listing of variables.
	examining func(*fakeWorker) error
	// measuring, if set, is called for each Usage.
	measuring func()

	mu           sync.Mutex
	workers      []*fakeWorker
	understudies []*fakeUnderstudy
}

func (f *fakeStarter) ForkObstacle() string {
	if f.forks {
		return ""
	}
	return "fakes can't be copied"
}

func (f *fakeStarter) Start(_ context.Context, spec Spec) (Worker, error) {
	w, err := f.start(spec)
	if err != nil {
		return nil, err
	}
	w.spec = spec
	return f.live(w), nil
}

// live makes w one of the starter's workers.
func (f *fakeStarter) live(w *fakeWorker) *fakeWorker {
	if w.exited == nil {
		w.exited = make(chan struct{})
	}
	w.stopped, w.starter = make(chan struct{}, 10), f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers = append(f.workers, w)
	return w
}

func (f *fakeStarter) started() []*fakeWorker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.workers
}

// runner does what code does.
type runner func(w *fakeWorker, r Request, sink Sink) (Outcome, error)

// fakeWorker is a Worker whose run decides what code does.
type fakeWorker struct {
	run runner

	exited  chan struct{}
	stopped chan struct{} // one token for each Interrupt
	once    sync.Once
	crash   *CrashError
	closed  bool
	early   int // that many interrupts come before Run has begun
	// answersAtDeath: what run returns counts even when the worker is killed.
	answersAtDeath bool

	starter *fakeStarter
	spec    Spec
	// memory is what the code has done so far, as copies remember it.
	mu     sync.Mutex
	memory []string
	// equipment is what it was told, the newest last.
	equipment []Equipment
	notes     []string
	initError string
	between   []Piece
	wall      *Wall
	line      *fakeLine // shared with its copies that stand by; nil until there is one
}

func (w *fakeWorker) Run(_ context.Context, r Request, sink Sink) (Outcome, error) {
	select {
	case <-w.exited:
		return Outcome{}, w.crash
	default:
	}
	type answer struct {
		outcome Outcome
		err     error
	}
	answers := make(chan answer, 1)
	heard := &heard{by: sink}
	defer heard.end()
	go func() {
		o, err := w.run(w, r, heard)
		answers <- answer{o, err}
	}()
	select {
	case a := <-answers:
		return a.outcome, a.err
	case <-w.exited:
		if w.answersAtDeath {
			a := <-answers
			return a.outcome, a.err
		}
		return Outcome{}, w.crash
	}
}

// heard is a Sink until its Run returns: what the code of a worker that was killed
// still prints is nobody's.
type heard struct {
	mu sync.Mutex
	by Sink // nil after the end
}

func (h *heard) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.by = nil
}

func (h *heard) tell(say func(Sink)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by != nil {
		say(h.by)
	}
}

func (h *heard) Output(stream Stream, text []byte) { h.tell(func(s Sink) { s.Output(stream, text) }) }
func (h *heard) Figure(f Figure)                   { h.tell(func(s Sink) { s.Figure(f) }) }
func (h *heard) Artifact(a Artifact)               { h.tell(func(s Sink) { s.Artifact(a) }) }
func (h *heard) Clear(c Cleared)                   { h.tell(func(s Sink) { s.Clear(c) }) }
func (h *heard) Ask(q Question)                    { h.tell(func(s Sink) { s.Ask(q) }) }

// Tool does not hold mu: many calls wait at once.
func (h *heard) Tool(ctx context.Context, r ToolRequest) (*ToolAnswer, error) {
	h.mu.Lock()
	by := h.by
	h.mu.Unlock()
	if by == nil {
		return nil, context.Canceled
	}
	return by.Tool(ctx, r)
}

func (w *fakeWorker) die(reason string) {
	w.once.Do(func() {
		w.crash = &CrashError{Reason: reason, ExitCode: -1}
		close(w.exited)
	})
}

func (w *fakeWorker) Equip(_ context.Context, e Equipment) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.equipment = append(w.equipment, e)
	return nil
}

func (w *fakeWorker) Variables(context.Context) (Namespace, error) {
	if f := w.starter.examining; f != nil {
		if err := f(w); err != nil {
			return Namespace{}, err
		}
	}
	return Namespace{Variables: []Variable{{Name: "x", Type: "int", Repr: "1"}}}, nil
}
func (w *fakeWorker) Interrupt() error {
	if w.early > 0 {
		w.early--
		return ErrNothingRuns
	}
	w.stopped <- struct{}{}
	return nil
}
func (w *fakeWorker) Kill() int               { w.die("killed by SIGKILL"); return 2 }
func (w *fakeWorker) Exited() <-chan struct{} { return w.exited }
func (w *fakeWorker) Ended() *CrashError {
	select {
	case <-w.exited:
		return w.crash
	default:
		return nil
	}
}
func (w *fakeWorker) Info() WorkerInfo {
	return WorkerInfo{InitError: w.initError, PID: 42, Python: "3.11.7", Origin: "fake", Notes: w.notes, Wall: w.wall}
}
func (w *fakeWorker) Resident() uint64 { return 0 }

// Between hands out what the test has put there.
func (w *fakeWorker) Between() []Piece {
	w.mu.Lock()
	defer w.mu.Unlock()
	pieces := w.between
	w.between = nil
	return pieces
}

func (w *fakeWorker) Unclaimed() (size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, piece := range w.between {
		size += len(piece.Text)
	}
	return size
}

func (w *fakeWorker) Usage() (Usage, error) {
	if w.starter.measuring != nil {
		w.starter.measuring()
	}
	return Usage{Memory: 100 << 20, Private: 20 << 20}, nil
}

func workerThat(run runner) *fakeStarter {
	return &fakeStarter{start: func(Spec) (*fakeWorker, error) { return &fakeWorker{run: run}, nil }}
}

// around has this happen in place of what the workers run, which it is given.
func (f *fakeStarter) around(happens func(runner, *fakeWorker, Request, Sink) (Outcome, error)) *fakeStarter {
	start := f.start
	f.start = func(s Spec) (*fakeWorker, error) {
		w, err := start(s)
		run := w.run
		w.run = func(w *fakeWorker, r Request, sink Sink) (Outcome, error) { return happens(run, w, r, sink) }
		return w, err
	}
	return f
}

// echoes is a worker whose code is what it prints.
func echoes() *fakeStarter {
	return workerThat(func(_ *fakeWorker, r Request, sink Sink) (Outcome, error) {
		sink.Output(Stdout, []byte(r.Code))
		return Outcome{OK: true}, nil
	})
}

// obeys runs until it is interrupted.
func obeys() *fakeStarter {
	return workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		sink.Output(Stdout, []byte("working\n"))
		select {
		case <-w.stopped:
		case <-w.exited:
			return Outcome{}, w.crash
		}
		sink.Output(Stdout, []byte("stopping\n"))
		return Outcome{Signalled: true, ExecTime: time.Second, Exception: &Exception{
			Type: "KeyboardInterrupt", Stack: []StackFrame{{"<cell 1>", 3, "<module>", "while True: pass"}},
		}}, nil
	})
}

func newTestManager(t *testing.T, starter Starter, change func(*Options)) *Manager {
	t.Helper()
	o := Options{
		Starter: starter, Logger: slog.New(slog.DiscardHandler), Dir: t.TempDir(), WorkdirRoot: t.TempDir(),
		Timeout: time.Hour, MaxTimeout: 2 * time.Hour, Wait: 45 * time.Second, Grace: 5 * time.Second,
		MaxSessions: 4, Queue: 2, OutputLimit: 1 << 20, SpoolAfter: 1 << 14, SpoolLimit: 1 << 30,
	}
	if change != nil {
		change(&o)
	}
	m := NewManager(o)
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

// fakeLine is a worker and its copies that stand by. Its faults are breaches
// of what Worker and Understudy demand of a session.
type fakeLine struct {
	mu     sync.Mutex
	lead   *fakeWorker
	open   int // workers that are not closed
	asleep map[*fakeUnderstudy]bool
	faults []string
}

func (l *fakeLine) fault(text string) { l.faults = append(l.faults, text) }

// fakeUnderstudy is a copy of a fakeWorker.
type fakeUnderstudy struct {
	of      *fakeWorker
	purpose Purpose
	memory  []string
	exited  chan struct{}
	once    sync.Once

	mu        sync.Mutex
	dismissed bool
	woken     bool
}

// shared returns w's line, which a first copy makes.
func (w *fakeWorker) shared() *fakeLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line == nil {
		w.line = &fakeLine{lead: w, open: 1, asleep: map[*fakeUnderstudy]bool{}}
	}
	return w.line
}

func (w *fakeWorker) Fork(ctx context.Context, purpose Purpose) (Understudy, error) {
	select {
	case <-w.exited:
		return nil, w.crash
	default:
	}
	if f := w.starter.forking; f != nil {
		if err := f(ctx, w, purpose); err != nil {
			return nil, err
		}
	}
	u := &fakeUnderstudy{of: w, purpose: purpose, memory: w.remembered(), exited: make(chan struct{})}
	if purpose == ToStandBy {
		l := w.shared()
		l.mu.Lock()
		l.asleep[u] = true
		l.mu.Unlock()
	}
	w.starter.mu.Lock()
	defer w.starter.mu.Unlock()
	w.starter.understudies = append(w.starter.understudies, u)
	return u, nil
}

func (w *fakeWorker) Close(context.Context) error {
	w.closed = true
	w.die("closed")
	l := w.shared()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 && len(l.asleep) > 0 {
		l.fault("the last worker was closed before its copies")
	}
	return nil
}

// remembered returns a copy of what the code has done.
func (w *fakeWorker) remembered() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.memory)
}

func (w *fakeWorker) remember(code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory = append(w.memory, code)
}

func (u *fakeUnderstudy) Rouse(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dismissed || u.woken {
		return errors.New("it is gone")
	}
	if f := u.of.starter.rousing; f != nil {
		if err := f(ctx, u); err != nil {
			u.gone()
			return err
		}
	}
	return nil
}

func (u *fakeUnderstudy) Wake(ctx context.Context, spec Spec) (Worker, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dismissed || u.woken {
		return nil, errors.New("it is gone")
	}
	if f := u.of.starter.waking; f != nil {
		if err := f(ctx, u); err != nil {
			u.gone()
			return nil, err
		}
	}
	select {
	case <-u.exited:
		u.gone()
		return nil, errors.New("it has ended")
	default:
	}
	if err := ctx.Err(); err != nil {
		u.gone()
		return nil, err
	}
	u.woken = true
	u.leave()
	w := &fakeWorker{run: u.of.run, spec: spec, memory: slices.Clone(u.memory), notes: []string{"a note of waking"}}
	u.of.starter.live(w)
	if u.purpose == ToStandBy {
		w.line = u.succeed(w)
	}
	return w, nil
}

// succeed checks that the place is free which w takes.
func (u *fakeUnderstudy) succeed(w *fakeWorker) *fakeLine {
	l := u.of.shared()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != 1 {
		l.fault("a copy was woken while the line had not one worker")
	}
	select {
	case <-l.lead.exited:
	default:
		l.fault("a copy was woken while its worker lived")
	}
	l.open++
	l.lead = w
	return l
}

func (u *fakeUnderstudy) gone() {
	u.dismissed = true
	u.leave()
}

// leave takes u out of its line.
func (u *fakeUnderstudy) leave() {
	l := u.of.shared()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asleep, u)
}

func (u *fakeUnderstudy) Dismiss() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.woken {
		u.gone()
		u.die()
	}
}

func (u *fakeUnderstudy) die()                    { u.once.Do(func() { close(u.exited) }) }
func (u *fakeUnderstudy) Exited() <-chan struct{} { return u.exited }
func (u *fakeUnderstudy) Usage() (Usage, error) {
	return Usage{Memory: 90 << 20, Private: 5 << 20}, nil
}

// copies returns all copies that were made, and how many of them sleep.
func (f *fakeStarter) copies() (all []*fakeUnderstudy, asleep int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.understudies {
		u.mu.Lock()
		if !u.dismissed && !u.woken {
			asleep++
		}
		u.mu.Unlock()
	}
	return slices.Clone(f.understudies), asleep
}

// lead returns the worker that was started or woken last.
func (f *fakeStarter) lead() *fakeWorker {
	workers := f.started()
	return workers[len(workers)-1]
}

// checkEnd wants every worker closed and every copy gone, in the right order.
func (f *fakeStarter) checkEnd(t *testing.T) {
	t.Helper()
	if _, asleep := f.copies(); asleep > 0 {
		t.Errorf("%d copies sleep on", asleep)
	}
	for i, w := range f.started() {
		expect(t, w.closed, "worker %d was not closed", i)
		l := w.shared()
		l.mu.Lock()
		for _, fault := range l.faults {
			t.Errorf("worker %d: %s", i, fault)
		}
		l.mu.Unlock()
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func makeFIFO(path string) error { return exec.Command("mkfifo", path).Run() }

var must, expect = check.Must, check.Expect

// errOf is the error alone of what a call returned.
func errOf[T any](_ T, err error) error { return err }

func same(t *testing.T, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// wantOut wants what code printed.
func wantOut(t *testing.T, r *Result, stdout string) {
	t.Helper()
	expect(t, r.Stdout == stdout, "%q was printed, not %q: %+v", r.Stdout, stdout, r)
}

func wantRun(t *testing.T, r *Result, execution int, stdout string) {
	t.Helper()
	expect(t, r.Execution == execution && r.Stdout == stdout, "execution %d printed %q, not %d %q: %+v", r.Execution, r.Stdout, execution, stdout, r)
}

// wantNotes wants a result's notes to have these words.
func wantNotes(t *testing.T, r *Result, words ...string) {
	t.Helper()
	for _, w := range words {
		expect(t, strings.Contains(notes(r), w), "the notes say nothing of %q: %q", w, r.Notes)
	}
}

// wantTook wants so much of a bubble's time to have passed.
func wantTook(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	took := time.Since(began)
	expect(t, took == want, "it took %s, not %s", took, want)
}
