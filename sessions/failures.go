package sessions

import (
	"errors"
	"fmt"
)

// countFailure brings the number of runs that have failed one after another up
// to date, and tells r. Success begins anew. A run that was interrupted, or left in
// the debugger, has shown nothing: somebody wanted it to end, and the number stays. An undo leaves
// it too, and a branch inherits it, because both go on with what was tried; only
// a fresh interpreter (reset, restart) is a new beginning. Trials don't count either
// way: that many of them fail is what an experiment is like, and what is to be done
// then is not for the user to say. The caller has the turn.
func (s *Session) countFailure(r *Result, trial *Trial) {
	if trial != nil {
		return
	}
	switch {
	case r.Status == StatusOK:
		s.setFailures(0)
	case r.Status != StatusInterrupted && r.ExcType != "BdbQuit":
		r.FailuresInARow = s.failedOnceMore()
		r.Stop = s.options.stopAdvice(r.FailuresInARow)
	}
}

// refused counts code that the Verifier refused as a run that failed, and has
// the refusal say when to stop. The caller has the turn.
func (s *Session) refused(err error) error {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != CodeRefused {
		return err // it was not judged
	}
	advice := s.options.stopAdvice(s.failedOnceMore())
	if advice == "" {
		return err
	}
	return &Error{Code: refusal.Code, Message: refusal.Message + "\n[stop] " + advice, Err: refusal.Err}
}

// stopAdvice is what an agent is told after as many failures, "" while it may
// go on.
func (o *Options) stopAdvice(failures int) string {
	if o.MaxRetries == 0 || failures < o.MaxRetries {
		return ""
	}
	return fmt.Sprintf("%s failed. Don't try again in the same way: stop, tell the user what fails, and ask how to go on.", inARow(failures))
}

func inARow(failures int) string {
	if failures == 1 {
		return "This run has"
	}
	return fmt.Sprintf("%d runs in a row have", failures)
}

func (s *Session) failedOnceMore() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	return s.failures
}

func (s *Session) setFailures(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = n
}

// failedInARow returns how many runs have failed one after another.
func (s *Session) failedInARow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}
