package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"understudy/internal/phrase"
	"understudy/internal/untrusted"
)

// firstCopyPatience bounds how long the answer about a branch waits for the
// branch's own first copy, which takes milliseconds.
const firstCopyPatience = 200 * time.Millisecond

// Branch makes another session with the present variables of an idle one, and
// with a copy of its working directory unless all sessions share theirs. From
// then on the two go their own ways.
func (m *Manager) Branch(ctx context.Context, client Client, id string) (Listing, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	parent, err := m.known(ctx, client, id)
	if err != nil {
		return Listing{}, err
	}
	if err := m.canFork("branch", "use operation \"create\" and run the code again in the new interpreter"); err != nil {
		return Listing{}, err
	}
	if err := parent.beginIdle(ctx, "it was not branched"); err != nil {
		return Listing{}, err
	}
	defer parent.leave()
	parent.revive()
	child, err := m.add(ctx, client, birth{parent: parent})
	if err != nil {
		return Listing{}, err
	}
	notes, err := child.grow(ctx, parent)
	if err != nil {
		m.forget(child)
		child.leave()
		child.running.Done()
		child.end(context.WithoutCancel(ctx))
		if err := child.dirs.Discard(context.WithoutCancel(ctx)); err != nil { // also what is else kept
			child.log.Warn("removing the files of a branch that was not made", "error", err)
		}
		return Listing{}, callerGone(ctx, err)
	}
	child.origin = child.states.place()
	child.introduce()
	child.leave()
	child.running.Done()
	patience, cancel := context.WithTimeout(ctx, firstCopyPatience)
	defer cancel()
	child.awaitCopy(patience)
	l := m.describe(child)
	l.Notes = notes
	for _, note := range append(parent.pendingNotice.inWords(), parent.overdue(nil)...) {
		l.Notes = append(l.Notes, "of "+parent.name+": "+note)
	}
	return l, nil
}

// canFork refuses an operation that needs copies where there are none, and
// says how to get on without.
func (m *Manager) canFork(operation, instead string) error {
	if obstacle := m.options.Starter.ForkObstacle(); obstacle != "" {
		return Errorf(CodeInvalid, "operation %q is not possible here: %s; %s", operation, obstacle, instead)
	}
	return nil
}

// descend makes a new session, which nobody knows yet, a branch of parent. It
// is held until grow is done: its turn is taken, and its end waits for it.
func (s *Session) descend(parent *Session) {
	s.parent, s.python, s.initError = parent.id, parent.python, parent.initError
	s.count = parent.ran() // names of figures and code must not come twice
	s.lastWarning = parent.lastWarning
	s.failures = parent.failedInARow()
	s.sessionVariables, s.variablesSet = parent.variablesNow()
	s.secrets = parent.secretsNow()
	s.turn.held = true
	s.running.Add(1)
}

// grow gives a new branch its worker and its files. It returns what the reader
// should know of them. The caller has the turn of both sessions.
func (s *Session) grow(ctx context.Context, parent *Session) (notes []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	u, err := parent.seed(ctx)
	switch {
	case err != nil:
		return nil, parent.notBranched(err)
	case u == nil:
		return s.growBare(ctx, parent)
	}
	if notes, err = s.takeFiles(ctx, parent); err != nil {
		u.Dismiss()
		return nil, err
	}
	waking, stop := context.WithTimeout(ctx, wakeTime)
	defer stop()
	w, err := u.Wake(waking, s.spec())
	if err != nil {
		return nil, Errorf(CodeStart, "interpreter %q could not be branched: its copy did not wake: %w", parent.name, err)
	}
	s.options.tally.started(originBranch)
	s.states.inherit(&parent.states)
	_, err = s.install(ctx, w)
	return append(notes, w.Info().Notes...), err
}

// seed copies the worker for a branch, once more if it has died this moment. It
// returns nil when there is none. The caller has the turn.
func (s *Session) seed(ctx context.Context) (u Understudy, err error) {
	for range 2 {
		if s.lead() == nil {
			return nil, nil
		}
		var crash *CrashError
		if u, err = s.fork(ctx, ToBranch); !errors.As(err, &crash) {
			return u, err
		}
		s.replace(ctx)
	}
	return nil, err
}

// growBare is for a parent without an interpreter: nothing ran, or its
// variables are lost.
func (s *Session) growBare(ctx context.Context, parent *Session) (notes []string, err error) {
	if lost := parent.pendingNotice; lost.reason != "" && !lost.restored {
		notes = append(notes, "it has no variables: those of "+parent.name+" are lost")
	}
	left, err := s.takeFiles(ctx, parent)
	if err != nil {
		return nil, err
	}
	return append(notes, left...), s.ensureWorker(ctx)
}

// notBranched says why the session couldn't be copied, and what to do.
func (s *Session) notBranched(err error) error {
	var refused *ForkError
	if errors.As(err, &refused) {
		return Errorf(CodeStart, "interpreter %q can't be branched now: %s; end or free what stands against it and try again, or use operation \"create\" and run the code again in the new interpreter", s.name, refused.Reason)
	}
	return Errorf(CodeStart, "interpreter %q could not be branched: %w; try again", s.name, err)
}

// takeFiles copies the parent's working directory, if it is its own.
func (s *Session) takeFiles(ctx context.Context, parent *Session) (notes []string, err error) {
	if err := s.prepareSandbox(ctx); err != nil { // who the code runs as makes the copy
		return nil, err
	}
	if s.dirs.Work == parent.dirs.Work {
		return []string{"both interpreters work in " + s.dirs.Work + " and share its files: what one writes or deletes there, the other finds so"}, nil
	}
	left, err := s.dirs.Copy(ctx, parent.dirs)
	if errors.Is(err, untrusted.ErrNoRoom) {
		return nil, Errorf(CodeLimit, "interpreter %q could not be branched: a copy of its files would pass the limit of %s (--disk-limit) for it and its branches; delete files below %s that are not needed, or a branch", parent.name, phrase.Size(s.options.DiskLimit), parent.dirs.Work)
	}
	if err != nil {
		return nil, Errorf(CodeStart, "interpreter %q could not be branched: copying its working directory: %w", parent.name, err)
	}
	if len(left) > 0 {
		notes = append(notes, fmt.Sprintf("%s of the working directory can't be copied and did not come along: %s", phrase.Count(len(left), "special file"), someOf(left, 5)))
	}
	return notes, nil
}

// leave gives the turn away; a copy that is due is made first, while the
// caller goes on.
func (s *Session) leave() {
	if s.states.wanting() {
		s.tidyUp()
		return
	}
	s.turn.release()
}

// someOf lists names, at most so many.
func someOf(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
