package sessions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/internal/phrase"
)

// startingSince is when the start of a worker began that is under way, zero if none is.
func (s *Session) startingSince() time.Time {
	if since := s.starting.Load(); since != 0 {
		return time.Unix(0, since)
	}
	return time.Time{}
}

// noteInitError has the next result tell that the operator's start-up code failed,
// and the log now: what it should have defined is missing.
func (s *Session) noteInitError(traceback string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initError = traceback
	if traceback == "" {
		return
	}
	failed := exceptionIn(traceback)
	s.log.Warn("the start-up code (--init-code) failed", "error", failed)
	s.pendingNotice.notes = append(slices.Clone(s.pendingNotice.notes),
		"the start-up code (--init-code) failed, and what it should have defined after that is missing: "+failed)
}

// exceptionIn returns what a traceback ends with: the type and the message of the exception.
func exceptionIn(traceback string) string {
	lines := strings.Split(strings.TrimSpace(traceback), "\n")
	i := len(lines) - 1
	for i > 0 && !strings.HasPrefix(lines[i-1], " ") && !strings.HasPrefix(lines[i-1], "Traceback (") {
		i--
	}
	return strings.Join(lines[i:], " ")
}

// stillStarting says what was not done because there is no worker yet.
func (s *Session) stillStarting(notDone string) error {
	if why := s.options.waiting(); why != "" {
		return Errorf(CodeBusy, "interpreter %q is still starting: %s; %s. Try again in a minute", s.name, why, notDone)
	}
	if since := s.startingSince(); !since.IsZero() && time.Since(since) > 2*startPatience {
		return Errorf(CodeBusy, "interpreter %q is still starting, for %s by now; %s. Try again in a minute; if it never gets there, the server's start-up code (--init-code) may not end, which is for its operator to mend", s.name, phrase.Duration(time.Since(since)), notDone)
	}
	return Errorf(CodeBusy, "interpreter %q is still starting; %s. Try again in a few seconds", s.name, notDone)
}

// busy says what was not done, since when something else runs, and what to do.
func (s *Session) busy(notDone string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, other := s.current, s.foreign(false)
	switch {
	case e == nil && s.worker == nil:
		return s.stillStarting(notDone)
	case e == nil:
		return Errorf(CodeBusy, "interpreter %q is busy; %s. Try again, or create another interpreter", s.name, notDone)
	case other != "":
		return Errorf(CodeBusy, "interpreter %q is busy: %s; %s. Try again, or create another interpreter", s.name, other, notDone)
	}
	asks, remedy, limit := "", `"wait" to go on waiting for it`, "no time limit"
	if prompt := e.prompt(); prompt != "" {
		asks, remedy = fmt.Sprintf(", and waits for a line of input at %q", prompt), `"answer" to give it one`
	}
	if e.limit > 0 {
		limit = "limit " + phrase.Duration(e.limit)
	}
	return Errorf(CodeBusy, "interpreter %q is busy: execution %d has been running for %s (%s)%s; %s. Call manage_interpreters with operation %s or \"interrupt\" to stop it, or create another interpreter",
		s.name, e.number, phrase.Duration(time.Since(e.started)), limit, asks, notDone, remedy)
}
