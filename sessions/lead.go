package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"understudy/internal/phrase"
)

// closeTime bounds an orderly end of a worker; past it, it is killed.
const closeTime = 3 * time.Second

// startPatience is how long a call waits at least for its interpreter to
// start: a call that is to answer at once would never get one otherwise.
const startPatience = 10 * time.Second

// wakeTime bounds the waking of a copy, which takes milliseconds unless the
// machine is out of breath: to lose the variables would be worse than to wait.
const wakeTime = 10 * time.Second

// restartNote says what became of the interpreter: why another took its place,
// and with which state.
type restartNote struct {
	reason   string // why the old one ended; "" if it didn't
	restored bool   // the variables are as they were
	lost     string // a clause: why they are not, where that isn't plain
	unwound  []int  // the executions that are lost, where an older state is back
	failed   error  // why there is no new one
	gone     bool   // the session has ended, so that there is to be none
	before   bool   // nothing ran as it ended
	notes    []string
}

// after adds what had happened before and nobody was told yet.
func (n restartNote) after(earlier restartNote) restartNote {
	if n.reason == "" && len(n.notes) == 0 {
		return earlier
	}
	notes := slices.Clone(earlier.notes)
	if earlier.reason != "" && !earlier.restored {
		notes = append(notes, "variables had been lost before: "+earlier.reason)
		switch {
		case n.restored:
			n.restored, n.lost, n.unwound = false, earlier.lost, earlier.unwound
		case len(n.unwound) > 0:
			n.unwound = append(slices.Clone(n.unwound), earlier.unwound...)
		}
	}
	n.notes = append(notes, n.notes...)
	return n
}

// setback says which older state is back, as the end of a sentence; "" if none is.
func (n restartNote) setback() string {
	if len(n.unwound) == 0 {
		return ""
	}
	return fmt.Sprintf("; the variables are as they were before execution %d; %s lost", n.unwound[0], executions(n.unwound))
}

// inWords tells of an interpreter that was brought back, for an answer that is
// no execution's.
func (n restartNote) inWords() []string {
	switch {
	case n.reason == "":
		return nil
	case n.restored:
		return []string{n.reason + "; its variables are back"}
	case n.setback() != "":
		return []string{n.reason + n.setback()}
	default:
		return []string{n.reason + "; its variables are lost"}
	}
}

// lead returns the worker, or nil.
func (s *Session) lead() Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worker
}

func (s *Session) spec() Spec {
	return Spec{
		InterpreterID: s.id, Group: s.group.ID, Home: s.group.Made(), Workdir: s.dirs.Work, PrivateDir: s.dirs.Private, Python: s.python,
		FirstExecution: s.ran() + 1,
	}
}

// ran returns the number of the last execution.
func (s *Session) ran() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// ensureWorker starts a worker unless there is one. The caller has the turn.
func (s *Session) ensureWorker(ctx context.Context) error {
	if s.lead() != nil {
		return nil
	}
	if s.life.Err() != nil { // nobody would remove anew what is made
		return s.gone()
	}
	err := s.makeDirs() // if its code, or who tidies up, has removed them
	if err == nil {
		err = s.prepareSandbox(ctx)
	}
	if err != nil {
		s.options.tally.failed()
		return err
	}
	s.starting.Store(time.Now().UnixNano())
	w, err := s.options.Starter.Start(ctx, s.spec())
	s.starting.Store(0)
	if err != nil {
		s.options.tally.failed()
		return callerGone(ctx, Errorf(CodeStart, "the Python interpreter could not be started: %w", err))
	}
	s.options.tally.started(w.Info().Origin)
	s.noteInitError(w.Info().InitError)
	_, err = s.install(ctx, w)
	return err
}

// install makes w the worker and returns the one before. If the session has
// ended meanwhile, whoever ended it will not see w, which is ended here.
func (s *Session) install(ctx context.Context, w Worker) (before Worker, err error) {
	s.mu.Lock()
	ended, before := s.ended, s.worker
	if !ended {
		s.worker = w
	}
	s.mu.Unlock()
	if ended {
		w.Kill()
		s.closeWorker(ctx, w)
		return nil, s.gone()
	}
	return before, nil
}

// awaitWorker sees that a worker is there. A start that takes longer than until, when the
// call answers, goes on without it and keeps the turn; kept says so.
func (s *Session) awaitWorker(ctx context.Context, until time.Time) (kept bool, err error) {
	if s.lead() != nil {
		return false, nil
	}
	started, abandoned := make(chan error), make(chan struct{})
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return false, s.gone()
	}
	s.running.Go(func() {
		err := s.ensureWorker(s.life)
		select {
		case started <- err:
		case <-abandoned:
			s.log.Info("the interpreter of a call that waits no more is ready", "error", err)
			s.turn.release()
		}
	})
	s.mu.Unlock()
	if soonest := time.Now().Add(startPatience); until.Before(soonest) {
		until = soonest
	}
	patient, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	select {
	case err := <-started:
		return false, err
	case <-patient.Done():
		close(abandoned)
		return true, s.stillStarting(codeDidNotRun)
	}
}

// revive brings back a worker that died while nothing ran, or drops it, and
// keeps what is to be told of it. The caller has the turn.
func (s *Session) revive() {
	w := s.lead()
	if w == nil || !hasExited(w) {
		return
	}
	reason := "the interpreter's process ended between two calls"
	if crash := w.Ended(); crash != nil {
		reason += ": " + crash.Reason
	}
	defer s.moved(s.states.ref())
	note := s.recover(s.life)
	note.reason, note.before = reason, true
	if !note.restored {
		s.noop = nil // it has become the least of the losses
	}
	s.pendingNotice = note.after(s.pendingNotice)
}

// replace brings back a worker that was just found dead, though its process
// may not be gone yet. The caller has the turn.
func (s *Session) replace(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if err := s.stopWorker(waiting); err != nil {
		s.log.Warn("replacing a dead interpreter", "error", err)
		return
	}
	s.revive()
}

// recover wakes the newest copy that answers in the place of the dead worker. Where there
// is none, worker and copies are dropped. The caller has the turn; life bounds the attempt.
func (s *Session) recover(life context.Context) (note restartNote) {
	note.lost = s.options.Starter.ForkObstacle()
	forks := note.lost == "" // else there is no copy either
	for forks && life.Err() == nil {
		u, lost, obstacle := s.states.takeNewest()
		note.lost = cmp.Or(note.lost, obstacle)
		if u == nil {
			break
		}
		note.unwound = append(lost, note.unwound...)
		w, err := s.wake(life, u)
		if err == nil {
			note.notes, note.restored = w.Info().Notes, len(note.unwound) == 0
			if !note.restored {
				s.outdate(note.unwound[0])
			}
			return note
		}
		s.log.Warn("waking a copy of the interpreter", "error", err)
		note.lost = cmp.Or(note.lost, err.Error())
	}
	note.restored, note.unwound = note.lost == "" && life.Err() == nil, nil
	s.dropWorker(context.WithoutCancel(life))
	if !note.restored {
		s.outdate(0)
		s.states.markStateLost()
	}
	return note
}

// wake puts u in the place of the worker, which is ended if it lives and u has shown that
// it works. Its error is a clause for the agent; u is gone then.
func (s *Session) wake(life context.Context, u Understudy) (w Worker, err error) {
	ctx, cancel := context.WithTimeout(life, wakeTime)
	defer cancel()
	if err = u.Rouse(ctx); err == nil {
		if err := s.stopWorker(ctx); err != nil {
			u.Dismiss()
			return nil, err
		}
		w, err = u.Wake(ctx, s.spec())
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("their copy did not wake within %s", phrase.Duration(wakeTime))
	case err != nil:
		return nil, fmt.Errorf("their copy did not wake: %w", err)
	}
	s.options.tally.started(originUnderstudy)
	before, err := s.install(life, w)
	if before != nil {
		s.closeWorker(context.WithoutCancel(life), before)
	}
	return w, err
}

// stopWorker sees to it that the worker is dead, whose place is to be taken.
func (s *Session) stopWorker(ctx context.Context) error {
	w := s.lead()
	if w == nil {
		return errors.New("the interpreter has ended")
	}
	if !hasExited(w) {
		w.Kill()
	}
	select {
	case <-w.Exited():
		return nil
	case <-ctx.Done():
		return errors.New("the old process did not end")
	}
}

// dropWorker ends the worker, if there is one, and all copies of it. The
// caller has the turn.
func (s *Session) dropWorker(ctx context.Context) {
	s.mu.Lock()
	w, ran, ended := s.worker, s.count, s.ended
	s.worker = nil
	s.mu.Unlock()
	if ended { // the state that it had last is its last one
		s.states.end()
	} else {
		s.states.startAfresh(ran)
	}
	if w != nil {
		s.closeWorker(ctx, w)
	}
}

func (s *Session) closeWorker(ctx context.Context, w Worker) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		s.log.Warn("ending worker", "error", err)
	}
}

// discardState drops the worker and its variables because that was asked for, so
// that nothing is to be said of it, nor of failures. The caller has the turn.
func (s *Session) discardState(ctx context.Context) {
	defer s.moved(s.states.ref())
	s.dropWorker(ctx)
	s.outdate(0)
	s.setFailures(0)
	s.pendingNotice, s.noop, s.fatal, s.buggy = restartNote{}, nil, 0, 0
}

// kill ends the worker by force, whoever has the turn.
func (s *Session) kill() {
	if w := s.lead(); w != nil {
		w.Kill()
	}
}

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
