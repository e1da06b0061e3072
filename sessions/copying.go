package sessions

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"understudy/internal/phrase"
)

const (
	// checkpointTime bounds the making of a copy, which delays the next call of
	// the session and no other. It takes milliseconds; on a machine that is far too
	// busy it was seen to take 2.5 s, and a state that is lost is worse than a wait.
	checkpointTime = 5 * time.Second
	// branchTime bounds that of one which somebody has asked for, and waits for.
	branchTime = 10 * time.Second
	// costliest is the most time that a copy counts for in its session's pace: what takes
	// longer waits for a busy machine. So no state of a session that is alone waits for its
	// copy for long once nobody calls, a fifth of a second with the usual share.
	costliest = 50 * time.Millisecond
	// longestPutOff bounds how long a copy waits for the copies of other sessions.
	longestPutOff = time.Second
	// upkeepAgain is the pause before it is tried again to get the turn.
	upkeepAgain = 10 * time.Millisecond
)

// copyPause is how long after a copy that was begun then the next one has to wait, so that
// copies take no more than their share of the session's time. Where more sessions are copied
// at once than there are processors, each has its part of these alone.
func (s *Session) copyPause(began time.Time) time.Duration {
	share := s.options.CopyShare
	if share <= 0 {
		return 0
	}
	crowd := max(1, float64(s.options.tally.copying.Load())/float64(runtime.GOMAXPROCS(0)))
	alone := float64(min(time.Since(began), costliest)) * (1/share - 1)
	return time.Duration(max(alone, min(alone*crowd, float64(longestPutOff))))
}

// keepAfter is keep after an execution: where calls follow each other faster than
// the share of copies allows, the copy waits until that much time has gone by, or for
// the end of the first execution after it. What a crash can cost is no more than that.
func (s *Session) keepAfter(a attempt) {
	obstacle := a.outcome.Obstacle
	// A copy that was woken has to be replaced at once, what tasks of the event loop do,
	// which go on while nobody calls, has no other copy, and code must not run once more
	// in an older state than it died in.
	atOnce := a.lostWorker() || s.live || s.options.RerunAfterCrash || obstacle != "" || s.options.Starter.ForkObstacle() != ""
	if !atOnce && time.Now().Before(s.nextCopy) && s.states.putOff() {
		s.wakeBy(s.nextCopy)
		return
	}
	s.keep(obstacle)
}

// keep has the present state copied if that is due, and lets go of what is too
// old. obstacle is why it can't be copied, as the worker said after the
// execution. The caller has the turn.
func (s *Session) keep(obstacle string) {
	if s.states.wanting() {
		began := time.Now()
		s.options.tally.copying.Add(1)
		u, reason, refused := s.understudy(obstacle)
		if s.failing = ""; refused {
			s.failing = reason
		}
		s.states.put(u, reason)
		s.mu.Lock()
		s.nextCopy = time.Now().Add(s.copyPause(began))
		s.mu.Unlock()
		s.options.tally.copying.Add(-1)
		if idle := s.options.CopyIdle; idle > 0 && u != nil {
			s.wakeBy(time.Now().Add(idle))
		}
	}
	s.states.trim(s.options.History)
}

// wakeBy has upkeep look after the session by then. One timer does for all that comes due:
// what is due later is found when it fires.
func (s *Session) wakeBy(then time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeByLocked(then)
}

// wakeByLocked is for callers that hold mu.
func (s *Session) wakeByLocked(then time.Time) {
	if !s.wakes.IsZero() && !then.Before(s.wakes) {
		return
	}
	s.wakes = then
	s.timer.Reset(time.Until(then))
}

// upkeep does what has come due: it stops an execution at its time limit, tells the
// Recorder of one that runs for longer and calls that they have waited for long enough;
// while nothing runs it makes the copy that was put off, or lets go of that of a session
// that has been idle for long. It waits for nothing.
func (s *Session) upkeep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakes = time.Time{}
	s.wakeCallers()
	if s.ended {
		return
	}
	switch idle := s.options.CopyIdle; {
	case s.current != nil: // its end sees to the copy
		s.supervise(s.current)
	case s.worker == nil || hasExited(s.worker): // the dead are brought back from the copies that there are
	case s.states.now().kept == putOff:
		s.copyIdle(s.nextCopy)
	case idle > 0:
		s.copyIdle(s.used.Add(idle))
	}
}

// supervise sees to an execution that runs. The caller holds mu.
func (s *Session) supervise(e *execution) {
	switch told := e.started.Add(unrecordedFor); {
	case s.options.Recorder == nil || e.supervised:
	case time.Now().Before(told):
		s.wakeByLocked(told)
	default:
		e.supervised = true
		s.running.Go(func() { s.noteRunning(e) })
	}
	switch {
	case e.deadline.IsZero():
	case time.Now().Before(e.deadline):
		s.wakeByLocked(e.deadline)
	default:
		e.requestStop(stoppedByLimit)
	}
}

// copyIdle makes the copy that was put off, or else lets go of that of an idle session, at
// that time or, if it has come, now. The caller holds mu.
func (s *Session) copyIdle(then time.Time) {
	switch {
	case time.Now().Before(then):
		s.wakeByLocked(then)
	case s.turn.tidyIfFree():
		s.running.Go(func() {
			defer s.turn.release()
			if s.states.takeUp() {
				s.keep("")
			} else if !s.live { // else it is what its tasks are renewed from
				s.states.rest()
			}
		})
	default: // whoever has the turn may run nothing
		s.wakeByLocked(time.Now().Add(upkeepAgain))
	}
}

// copyNow makes the copy that was put off, for who wants to know whether it can be made.
func (s *Session) copyNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && s.current == nil && s.worker != nil && !hasExited(s.worker) && s.states.now().kept == putOff {
		s.copyIdle(time.Now())
	}
}

// sleeper is a call that waits until a time at most.
type sleeper struct {
	until time.Time
	up    chan struct{} // closed then
}

// sleep returns what is closed at that time, to a call that waits for no longer; wake ends
// that.
func (s *Session) sleep(until time.Time) (up <-chan struct{}, wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &sleeper{until, make(chan struct{})}
	if !time.Now().Before(until) {
		close(one.up)
		return one.up, func() {}
	}
	s.sleepers = append(s.sleepers, one)
	s.wakeByLocked(until)
	return one.up, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sleepers = slices.DeleteFunc(s.sleepers, func(other *sleeper) bool { return other == one })
	}
}

// wakeCallers wakes those whose time has come. The caller holds mu.
func (s *Session) wakeCallers() {
	now := time.Now()
	s.sleepers = slices.DeleteFunc(s.sleepers, func(one *sleeper) bool {
		if now.Before(one.until) {
			s.wakeByLocked(one.until)
			return false
		}
		close(one.up)
		return true
	})
}

// understudy returns a copy of the worker, or the reason why there is none;
// refused says that the worker lives and could not copy itself, though nothing
// was known to stand against it.
func (s *Session) understudy(obstacle string) (u Understudy, reason string, refused bool) {
	if none := s.options.Starter.ForkObstacle(); none != "" {
		return nil, none, false
	}
	if obstacle != "" {
		return nil, obstacle, false
	}
	u, err := s.fork(s.life, ToStandBy)
	if err != nil {
		var why *ForkError
		return nil, err.Error(), errors.As(err, &why)
	}
	return u, "", false
}

// fork copies the worker in a bounded time. Its error is a clause for the agent.
func (s *Session) fork(ctx context.Context, purpose Purpose) (Understudy, error) {
	w := s.lead()
	if w == nil {
		return nil, errors.New("its process has ended")
	}
	within := checkpointTime
	if purpose == ToBranch {
		within = branchTime
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	u, err := w.Fork(ctx, purpose)
	if err == nil {
		return u, nil
	}
	var refused *ForkError
	if errors.As(err, &refused) {
		s.log.Debug("interpreter can't be copied", "reason", refused.Reason)
		return nil, refused
	}
	if s.life.Err() == nil {
		s.log.Warn("copying the interpreter", "error", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w %s", errTooSlow, phrase.Duration(within))
	}
	return nil, fmt.Errorf("it could not be copied: %w", err)
}

// errTooSlow is the beginning of a clause.
var errTooSlow = errors.New("it could not be copied within")

// renewCopy takes a copy of the state as tasks of the event loop have left it since the
// last execution, as the next one begins. A worker whose tasks let it do nothing else,
// interrupted or not, is brought back from the copy before. The caller has the turn.
func (s *Session) renewCopy(ctx context.Context) error {
	if now := s.states.now(); !s.live || s.lead() == nil || now.kept != copied || now.hasDied() {
		return nil
	}
	u, err := s.fork(s.life, ToStandBy)
	switch {
	case err == nil:
		s.states.put(u, "")
	case errors.Is(err, errTooSlow):
		s.live = false
		s.replace(ctx)
		s.pendingNotice.notes = append(s.pendingNotice.notes, "a task of the event loop would let nothing else run")
		return s.ensureWorker(ctx)
	}
	return nil
}

// tidyUp makes the copy that is due and then gives the turn away, while the
// caller goes on.
func (s *Session) tidyUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		s.turn.release()
		return
	}
	s.turn.tidy()
	s.running.Go(func() {
		defer s.turn.release()
		s.keep("")
	})
}
