package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// unrecordedFor is how long an execution runs before the Recorder hears of it: the
// usual one has ended by then, and is recorded once.
const unrecordedFor = 200 * time.Millisecond

// lineage is where an execution stands among the others; see Entry.
type lineage struct{ parent, follows Place }

// lineage says where an execution stands that begins now. The caller has the turn.
func (s *Session) lineage() lineage {
	l := lineage{parent: s.states.place()}
	l.follows = l.parent
	if s.fatal > 0 {
		l.follows = Place{InterpreterID: s.id, Execution: s.fatal}
	}
	return l
}

// entry tells of an execution as far as it is known while it runs.
func (s *Session) entry(e *execution) Entry {
	return Entry{
		InterpreterID: s.id, Execution: e.number, Client: s.owner(), Kind: e.request.Kind,
		Code: e.request.Code, Arguments: e.request.Arguments, Started: e.started, Limit: e.limit,
		Trial: e.trial, Parent: e.lineage.parent, Follows: e.lineage.follows, Secrets: s.secretsNow(),
	}
}

// announce tells the Recorder of a trial that is to begin. The caller has the turn.
func (s *Session) announce(ctx context.Context, e *execution) error {
	if s.options.Recorder == nil || e.trial == nil {
		return nil
	}
	err := s.options.Recorder.Begin(ctx, s.entry(e))
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		return err
	case ctx.Err() != nil: // it would be stopped at once
		s.withdraw(e)
		return callerGone(ctx, err)
	case err != nil:
		s.log.Error("recording a trial that begins", "execution", e.number, "error", err)
	}
	return nil
}

// mayBeginAfresh asks the Recorder whether it refuses a trial that is to begin with
// no variables, so that none are dropped for it then. The caller has the turn.
func (s *Session) mayBeginAfresh(ctx context.Context, r RunRequest) error {
	e := newExecution(s.ran()+1, r, nil, lineage{})
	defer e.endLife(nil)
	if err := s.announce(ctx, e); err != nil {
		return err
	}
	s.withdraw(e)
	return nil
}

// withdraw tells the Recorder that a trial which was announced does not run.
func (s *Session) withdraw(e *execution) {
	if e.trial != nil {
		s.stand()
	}
}

// noteRunning tells the Recorder of an execution that runs for longer, once.
func (s *Session) noteRunning(e *execution) {
	if s.options.Recorder == nil || e.trial != nil {
		return
	}
	e.noted.Do(func() {
		if err := s.options.Recorder.Begin(context.Background(), s.entry(e)); err != nil {
			s.log.Error("recording an execution that runs", "execution", e.number, "error", err)
		}
	})
}

// record tells the Recorder how e has ended. A failure is told in the answer.
func (s *Session) record(e *execution, a attempt, result *Result) {
	if s.options.Recorder == nil {
		return
	}
	e.noted.Do(func() {}) // waits for a telling that has begun
	whole := *result
	whole.fill(e.transcript.Recorded())
	entry := s.entry(e)
	entry.Parent, entry.Present = a.began, s.states.place()
	entry.Result, entry.Metric, entry.Printed = &whole, a.outcome.Metric, e.transcript.Printed()
	entry.Open = s.openMade
	if w := s.lead(); w != nil {
		entry.Memory = w.Resident()
	}
	report, err := s.options.Recorder.Record(context.Background(), entry)
	var incomplete *Incomplete
	switch {
	case errors.As(err, &incomplete):
		result.note(fmt.Sprintf("not all of this run is in the journal: %v", err))
	case err != nil:
		s.log.Error("recording execution", "execution", e.number, "error", err)
		result.note(fmt.Sprintf("this run is not in the journal: %v", err))
	}
	result.Trial = report
	if report != nil {
		if report.Best != nil {
			best := *report.Best
			best.InterpreterID = entry.Client.Handle(best.InterpreterID)
			report.Best = &best
		}
		s.buggy = 0
		if report.Buggy {
			s.buggy = e.number
		}
	}
}

// introduce tells the Recorder of the session, once and before anything runs in it.
func (s *Session) introduce() { s.introduced.Do(s.stand) }

// standEnded tells the Recorder that the session has ended, if it has heard of it.
func (s *Session) standEnded() {
	unknown := false
	s.introduced.Do(func() { unknown = true })
	if !unknown {
		s.stand()
	}
}

// moved tells the Recorder how the session stands if its state is another than
// before, and no execution has made it so. The caller has the turn.
func (s *Session) moved(before Place) {
	if s.states.place() != before {
		s.stand()
	}
}

// stand tells the Recorder how the session stands. Nothing runs in it, and nothing
// can begin to: the caller has the turn, or the session is new or has ended.
func (s *Session) stand() {
	if s.options.Recorder == nil {
		return
	}
	now := Standing{
		InterpreterID: s.id, Client: s.owner(), Workdir: s.dirs.Work, Created: s.created,
		Origin: s.origin, Parent: s.parent, Present: s.states.place(),
		Secrets: s.secretsNow(),
	}
	s.mu.Lock()
	now.Ended = s.endedAt
	s.mu.Unlock()
	if err := s.options.Recorder.Stand(context.Background(), now); err != nil {
		s.log.Error("recording how the interpreter stands", "error", err)
	}
}

// secretsNow returns the values that session variables have or had.
func (s *Session) secretsNow() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets
}

// keepSecret adds the values of variables. The caller holds mu.
func (s *Session) keepSecret(variables map[string]string) {
	all := slices.Clone(s.secrets) // readers have the old one
	for _, value := range variables {
		if value != "" && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	s.secrets = all
}
