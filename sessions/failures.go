package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// failures are the runs of a session that have failed one after another.
type failures struct {
	inARow int
	kinds  []string // of the newest, as many as may tell that an agent goes in circles
}

// more adds one of a kind and returns how many of the newest are alike.
func (f *failures) more(kind string, kept int) (alike int) {
	f.inARow++
	f.kinds = append(f.kinds, kind)
	f.kinds = slices.Clone(f.kinds[max(0, len(f.kinds)-kept):])
	for _, other := range f.kinds {
		if other == kind {
			alike++
		}
	}
	return alike
}

// countFailure brings the number of runs that have failed one after another up
// to date, and tells r. Success begins anew. A run that was interrupted, or left in
// the debugger, has shown nothing: somebody wanted it to end, and the number stays. An undo leaves
// it too, and a branch inherits it, because both go on with what was tried; only
// a fresh interpreter (reset, restart) is a new beginning. Trials don't count either
// way: that many of them fail is what an experiment is like, and what is to be done
// then is not for the user to say. The caller has the turn.
func (s *Session) countFailure(e *execution, r *Result) {
	if e.trial != nil {
		return
	}
	switch {
	case r.Status == StatusOK:
		s.setFailures(failures{})
	case r.Status != StatusInterrupted && r.ExcType != "BdbQuit":
		r.Stop = s.failedOnceMore(kindOfFailure(r, e.request.Code))
		r.FailuresInARow = s.failedInARow().inARow
	}
}

// kindOfFailure is the same for failures that are alike: the exception's class and its
// message, but for names, values and numbers, and of a command its first word.
func kindOfFailure(r *Result, code string) string {
	switch {
	case r.ExitCode != nil:
		program, _, _ := strings.Cut(strings.TrimSpace(code), " ")
		return fmt.Sprintf("%.100s, exit code %d", program, *r.ExitCode)
	case r.Status == StatusError:
		return particulars.ReplaceAllLiteralString(r.Failure(), "")
	}
	return cmp.Or(r.ExcType, string(r.Status))
}

var particulars = regexp.MustCompile(`'[^']*'|"[^"]*"|[0-9]+`)

// refused counts code that the Verifier refused as a run that failed, and has
// the refusal say when to stop. The caller has the turn.
func (s *Session) refused(err error) error {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != CodeRefused {
		return err // it was not judged
	}
	advice := s.failedOnceMore(string(refusal.Code))
	if advice == "" {
		return err
	}
	return &Error{Code: refusal.Code, Message: refusal.Message + "\n[stop] " + advice, Err: refusal.Err}
}

// failedOnceMore counts a failure and returns what the agent is told: "" while it may go on.
// Only what is alike counts for that, be it among others that came of other tries.
func (s *Session) failedOnceMore(kind string) (advice string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.options.MaxRetries
	alike := s.failures.more(kind, 2*limit)
	if limit == 0 || alike < limit {
		return ""
	}
	return fmt.Sprintf("%s. Don't try again in the same way: stop, tell the user what fails, and ask how to go on.", inARow(alike, len(s.failures.kinds)))
}

func inARow(alike, all int) string {
	switch {
	case all == 1:
		return "This run has failed"
	case alike == all:
		return fmt.Sprintf("%d runs in a row have failed alike", all)
	}
	return fmt.Sprintf("%d of the last %d runs have failed alike", alike, all)
}

func (s *Session) setFailures(f failures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = f
}

// failedInARow returns the runs that have failed one after another.
func (s *Session) failedInARow() failures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}
