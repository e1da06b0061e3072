package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"understudy/internal/phrase"
)

// turn lets one holder at a time through, in order of arrival, with at most
// limit waiting.
type turn struct {
	limit int

	mu      sync.Mutex
	held    bool
	waiting []chan struct{} // closed when its owner's turn has come
	// tidying is not nil while the holder's call is over and only our own
	// short work is left, as copying the worker; closed after that.
	tidying chan struct{}
}

// acquire waits for the turn until then, or until ctx ends. It reports false, without
// waiting, when too many wait already.
func (t *turn) acquire(ctx context.Context, until time.Time) (room bool, err error) {
	t.mu.Lock()
	if !t.held { // no timer for a call that waits for nobody
		t.held = true
		t.mu.Unlock()
		return true, nil
	}
	limit := t.limit
	if t.tidying != nil { // no call has the turn, so the first in the queue counts as its holder
		limit++
	}
	if len(t.waiting) >= limit {
		t.mu.Unlock()
		return false, nil
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return true, t.wait(ctx, len(t.waiting))
}

// tidy says that the holder's call is over. Who wants the turn waits for the
// rest however short of time: it is our work and not another call's.
func (t *turn) tidy() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tidying = make(chan struct{})
}

// tidyIfFree takes the turn for our own work if nobody has it.
func (t *turn) tidyIfFree() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		return false
	}
	t.held, t.tidying = true, make(chan struct{})
	return true
}

// tidied returns what is closed when the holder's own work is done, nil when
// there is none.
func (t *turn) tidied() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tidying
}

// idle reports whether no call has the turn or waits for it.
func (t *turn) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) == 0 && (!t.held || t.tidying != nil)
}

// claim waits for the turn ahead of everybody else and beyond the limit: what
// ends an interpreter must not wait for those who want to use it.
func (t *turn) claim(ctx context.Context) error {
	t.mu.Lock()
	return t.wait(ctx, 0)
}

// wait takes the turn, or that place in the queue until the turn comes or ctx
// ends. The caller holds mu, which wait lets go.
func (t *turn) wait(ctx context.Context, place int) error {
	if !t.held {
		t.held = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.waiting = slices.Insert(t.waiting, place, mine)
	tidying := t.tidying
	t.mu.Unlock()

	if tidying != nil {
		<-tidying
	}
	select {
	case <-mine: // even when ctx has ended meanwhile
		return nil
	default:
	}
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		return t.leave(mine, ctx.Err())
	}
}

// leave gives up the place in the queue. If the turn came at the same moment
// it is passed on.
func (t *turn) leave(mine chan struct{}, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.waiting {
		if other == mine {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return err
		}
	}
	t.pass()
	return err
}

// release gives the turn to the one who waits longest.
func (t *turn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
	if t.tidying != nil {
		close(t.tidying)
		t.tidying = nil
	}
}

func (t *turn) pass() {
	if len(t.waiting) == 0 {
		t.held = false
		return
	}
	next := t.waiting[0]
	t.waiting = t.waiting[1:]
	close(next)
}

// queued returns how many wait.
func (t *turn) queued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}

// attempt is what one try of running code on a worker came to.
type attempt struct {
	outcome Outcome
	crash   *CrashError // the worker died
	fault   error       // anything else that went wrong; ours to log
	cause   stopCause   // why it was stopped, if it was
	killed  bool        // it ignored the interrupt
	ended   int         // processes that were killed beside the worker
	asked   time.Time   // when it was interrupted
	began   StateRef    // the state that it began with
}

// attempt runs the execution's code on w under its time limit: at the limit,
// or when a stop is asked for, it interrupts, and after the grace it kills.
// The code's own end costs no goroutine beside the caller's.
func (s *Session) attempt(e *execution, w Worker) attempt {
	q := &stopSequence{session: s, execution: e, worker: w, answered: make(chan struct{})}
	s.setDeadline(e, e.limit)
	defer s.setDeadline(e, 0)
	e.onStop(q.begin)
	e.transcript.Between(w.Between())
	outcome, err := w.Run(context.Background(), e.request, sink{e.transcript, &e.questions, e.tools})
	e.questions.end()
	close(q.answered)
	e.onStop(nil)
	return q.end().answered(outcome, err)
}

// setDeadline has e stopped after so long; 0: not at all.
func (s *Session) setDeadline(e *execution, limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.deadline = time.Time{}
	if limit > 0 {
		e.deadline = time.Now().Add(limit)
		s.wakeByLocked(e.deadline)
	}
}

// stopSequence stops an attempt: interrupt, wait, kill.
type stopSequence struct {
	session   *Session
	execution *execution
	worker    Worker
	answered  chan struct{} // closed when the worker has answered
	over      chan struct{} // closed at the sequence's end; nil if it never began
	attempt   attempt
}

func (q *stopSequence) begin(cause stopCause) {
	q.over = make(chan struct{})
	q.attempt.cause, q.attempt.asked = cause, time.Now()
	go q.escalate()
}

func (q *stopSequence) escalate() {
	defer close(q.over)
	if q.attempt.cause != stoppedByEnd && q.interrupt() {
		return
	}
	q.attempt.killed = true
	q.attempt.ended = q.worker.Kill()
}

// interrupt reports whether the code ended of it in time.
func (q *stopSequence) interrupt() bool {
	grace := time.NewTimer(q.session.options.Grace)
	defer grace.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			err := q.worker.Interrupt()
			switch {
			case errors.Is(err, ErrNothingRuns): // a stop may be asked for before Run has begun
				again.Reset(time.Millisecond)
			case err != nil:
				q.session.log.Warn("interrupting execution", "execution", q.execution.number, "error", err)
			}
		case <-q.answered:
			return true
		case <-grace.C:
			return false
		case <-q.execution.life.Done():
			q.attempt.cause = stoppedByEnd
			return false
		}
	}
}

// end waits for a sequence that has begun and tells what it did.
func (q *stopSequence) end() attempt {
	if q.over != nil {
		<-q.over
	}
	return q.attempt
}

func (a attempt) answered(outcome Outcome, err error) attempt {
	a.outcome = outcome
	if err != nil && !errors.As(err, &a.crash) {
		a.fault = err
		a.crash = &CrashError{Reason: "the interpreter could not be reached", ExitCode: -1}
	}
	return a
}

// lostWorker reports whether the worker is dead; one that was killed may still
// have answered.
func (a attempt) lostWorker() bool { return a.crash != nil || a.killed }

// execute runs e to its end, has the state that it left copied once its result
// is handed out, and passes the turn on. It is the one goroutine of a running
// execution.
func (s *Session) execute(e *execution, before restartNote) {
	defer s.turn.release()
	lastWarning := s.lastWarning
	a, note := s.tries(e)
	s.noop = a.noop(e, note)
	note, e.killed, e.lostWorker = note.after(before), a.killed, a.lostWorker()
	e.died = a.lostWorker() && a.cause != stoppedByEnd
	s.fatal = 0
	if e.died {
		s.fatal = e.number
	}
	if a.fault != nil {
		s.log.Error("execution failed", "execution", e.number, "error", a.fault)
	}
	e.transcript.Finish()
	result := s.report(e, a, note)
	if n := e.questions.unread(); n > 0 {
		result.note(fmt.Sprintf("%s of the answer went nowhere: the code asked no more", phrase.Count(n, "line")))
	}
	if e.operator {
		s.lastWarning = lastWarning // the owner has still to hear of what is new
		s.visits.add(result, e.died)
	} else {
		s.countFailure(result, e.trial)
	}
	if !a.lostWorker() {
		s.live = a.outcome.Tasks > 0
		s.states.advance(e.number)
		s.states.define(e.number, a.outcome.Variables)
	}
	s.record(e, a, result)
	e.tools.forget()
	if s.options.Ended != nil {
		s.options.Ended(*result)
	}
	if e.traced != nil {
		e.traced(*result)
	}
	e.transcript.Close()
	s.turn.tidy()
	s.finished(e)
	e.finish(result)
	s.remember(e)
	s.keepAfter(a)
}

// tries runs the code, once more after a crash if the operator wants that.
func (s *Session) tries(e *execution) (attempt, restartNote) {
	a := s.attempt(e, s.lead())
	a.began = e.lineage.parent
	if !a.lostWorker() {
		return a, restartNote{}
	}
	first := s.replaceWorker(e, a)
	w := s.lead()
	if !s.rerunWanted(a) || w == nil {
		return a, first
	}
	first.notes = append(first.notes, "the code crashed its interpreter and was run once more (--rerun-after-crash); what it did outside before the crash may have been done twice")
	s.keep("")                              // the second try may crash too
	if err := s.equip(e.life); err != nil { // a copy may be from before a change
		s.log.Warn("telling plugins before the second try", "execution", e.number, "error", err)
	}
	began := s.states.ref() // maybe an older one than that of the first try
	a = s.attempt(e, w)
	a.began = began
	if !a.lostWorker() {
		return a, first
	}
	return a, s.replaceWorker(e, a).after(first)
}

// rerunWanted reports whether the code is to be run once more, which is the
// operator's choice: what it did before the crash happens twice.
func (s *Session) rerunWanted(a attempt) bool {
	return s.options.RerunAfterCrash && a.cause == notStopped && a.fault == nil
}

// replaceWorker puts the copy of the state before e in the place of the worker
// that died, or else a fresh worker.
func (s *Session) replaceWorker(e *execution, a attempt) restartNote {
	var note restartNote
	if err := s.dirs.RemoveCode(); err != nil {
		s.log.Warn("removing the code file", "error", err)
	}
	if e.life.Err() == nil {
		note = s.recover(e.life)
	}
	if e.life.Err() == nil {
		note.failed = s.ensureWorker(e.life)
	}
	note.restored = note.restored && note.failed == nil
	if ended := context.Cause(e.life); ended != nil { // who ends it sees to what comes after
		s.dropWorker(context.Background())
		note = restartNote{gone: !errors.Is(ended, errRestart), reason: ended.Error()}
	}
	switch {
	case a.cause == stoppedByEnd:
	case a.killed:
		note.reason = fmt.Sprintf("the code ignored the interrupt for %s and its process was killed", phrase.Duration(s.options.Grace))
	default:
		note.reason = a.crash.Reason
	}
	return note
}
