package sessions

import (
	"context"
	"errors"
	"fmt"
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
	// longer waits for a busy machine. So no state waits for its copy for long once nobody
	// calls, a fifth of a second with the usual share.
	costliest = 50 * time.Millisecond
	// upkeepAgain is the pause before it is tried again to get the turn.
	upkeepAgain = 10 * time.Millisecond
)

// pace bounds the share of a session's time that its copies take. It belongs to whoever
// has the turn.
type pace struct {
	share float64 // the largest, up to 1; 0 sets no bound
	next  time.Time
}

// spent notes that a copy has been made since began.
func (p *pace) spent(began time.Time) {
	if p.share > 0 {
		now := time.Now()
		cost := min(now.Sub(began), costliest)
		p.next = now.Add(time.Duration(float64(cost) * (1/p.share - 1)))
	}
}

// keepAfter is keep after an execution: where calls follow each other faster than
// the share of copies allows, the copy waits until that much time has gone by, or for
// the end of the first execution after it. What a crash can cost is no more than that.
func (s *Session) keepAfter(a attempt) {
	obstacle, wait := a.outcome.Obstacle, time.Until(s.pace.next)
	// A copy that was woken has to be replaced at once, what tasks of the event loop do,
	// which go on while nobody calls, has no other copy, and code must not run once more
	// in an older state than it died in.
	atOnce := a.lostWorker() || s.live || s.options.RerunAfterCrash || obstacle != "" || s.options.Starter.ForkObstacle() != ""
	if wait > 0 && !atOnce && s.states.putOff() {
		s.next.Reset(wait)
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
		u, reason, refused := s.understudy(obstacle)
		if s.failing = ""; refused {
			s.failing = reason
		}
		s.states.put(u, reason)
		s.pace.spent(began)
		if idle := s.options.CopyIdle; idle > 0 && u != nil {
			s.next.Reset(idle)
		}
	}
	s.states.trim(s.options.History)
}

// upkeep makes the copy that was put off, or lets go of that of a session that has been
// idle for long. Where code runs its end sees to the copy. It waits for nothing.
func (s *Session) upkeep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.current != nil || s.worker == nil || hasExited(s.worker) {
		return // the dead are brought back from the copies that there are
	}
	idle, putOff := s.options.CopyIdle, s.states.now().putOff
	left := idle - time.Since(s.used)
	switch {
	case !putOff && idle == 0:
	case !putOff && left > 0:
		s.next.Reset(left)
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
		s.next.Reset(upkeepAgain)
	}
}

// putOff has the copy that is due wait for a moment in which nobody calls. It does
// nothing, and reports false, unless the copy before it stands in meanwhile.
func (c *checkpoints) putOff() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || !c.present.due || !c.hasStandIn() {
		return false
	}
	c.present.due, c.present.putOff = false, true
	return true
}

// hasStandIn reports whether there is a copy of the newest past state that was to get
// one. The caller holds mu.
func (c *checkpoints) hasStandIn() bool {
	for _, earlier := range slices.Backward(c.past) {
		if !earlier.putOff {
			return !earlier.pristine && earlier.obstacle() == ""
		}
	}
	return false
}

// takeUp makes the copy due that was put off, and reports whether there is one.
func (c *checkpoints) takeUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.present.putOff {
		return false
	}
	c.present.due, c.present.putOff = true, false
	return true
}

// rest lets go of the copy of the present state. Another is due, before anything runs.
func (c *checkpoints) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.present; p.understudy != nil {
		p.dismiss()
		c.present = checkpoint{after: p.after, in: p.in, due: true, resting: true}
	}
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
	if now := s.states.now(); !s.live || s.lead() == nil || now.understudy == nil || now.obstacle() != "" {
		return nil
	}
	u, err := s.fork(s.life, ToStandBy)
	switch {
	case err == nil:
		s.states.put(u, "")
	case errors.Is(err, errTooSlow):
		s.live = false
		s.replace(ctx)
		s.untold.notes = append(s.untold.notes, "a task of the event loop would let nothing else run")
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
