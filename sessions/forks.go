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

// Branch makes another session with the present variables of an idle one, and with a copy
// of its working directory unless all sessions share theirs. From then on the two go their
// own ways. Its errors are CodeInvalid, CodeNotFound, CodeBusy, CodeLimit and CodeStart.
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
	child.origin = child.states.ref()
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
		remedy := "try again, or "
		switch r := refused.Reason; {
		case strings.Contains(r, "Python thread"):
			remedy = "end these threads (shut down what started them) and try again, or "
		case strings.Contains(r, "--checkpoint-memory"):
			remedy = "free memory (del what is not needed any more) and try again, or "
		case strings.Contains(r, "native thread"), strings.Contains(r, "CUDA"): // nothing ends these
			remedy = ""
		}
		return Errorf(CodeStart, "interpreter %q can't be branched now: %s; %suse operation \"create\" and run the code again in the new interpreter", s.name, refused.Reason, remedy)
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
		notes = append(notes, fmt.Sprintf("%s of the working directory can't be copied and did not come along: %s", phrase.Count(len(left), "special or unreadable file"), someOf(left, 5)))
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

// Undone says what an undo did.
type Undone struct {
	InterpreterID string `json:"interpreter_id"`
	// Execution is the number of the one that was undone, 0 if the last one had
	// left nothing behind, and nothing was done.
	Execution int `json:"execution,omitempty"`
	// Left is how many earlier ones can still be undone.
	Left int `json:"left"`
	// Notes are plain sentences about what did not come back, and about other
	// executions.
	Notes []string `json:"notes,omitempty"`
	// Message tells all this, but for the notes, in sentences.
	Message string `json:"message"`
}

// withoutUndo is how to get on where an execution can't be undone.
const withoutUndo = "assign the earlier values again, or restart the interpreter and run the code up to there"

// Undo gives a session the variables that it had before its last execution that had an
// effect. Files stay as they are; child processes are ended. An undo right after an
// execution that left nothing behind says so and does nothing. Its errors are CodeInvalid,
// CodeNotFound, CodeBusy and CodeStart.
func (m *Manager) Undo(ctx context.Context, client Client, id string) (*Undone, error) {
	ctx, depart := m.follow(ctx, client)
	defer depart()
	s, err := m.known(ctx, client, id)
	if err != nil {
		return nil, err
	}
	if err := m.canFork("undo", withoutUndo); err != nil {
		return nil, err
	}
	ran := s.ran()
	if err := s.beginIdle(ctx, "nothing was undone"); err != nil {
		return nil, err
	}
	defer s.leave()
	if now := s.ran(); now != ran { // it is not the last one that the caller knows of
		return nil, Errorf(CodeBusy, "execution %d ran in interpreter %q meanwhile; nothing was undone. Look at its result, and undo it if it is the one to be undone", now, s.name)
	}
	undone, err := s.undo(ctx)
	if err != nil {
		return nil, err
	}
	undone.Notes = append(undone.Notes, append(s.visits.inWords(), s.overdue(nil)...)...)
	return undone, nil
}

// noopFailure is an execution that lost its process, after which an older state
// came back.
type noopFailure struct {
	execution int
	how       string // it ended
	unwound   []int  // executions that were lost with it
}

// noop returns e if it left nothing that an undo could take back.
func (a attempt) noop(e *execution, note restartNote) *noopFailure {
	if !a.lostWorker() || !note.restored && len(note.unwound) == 0 {
		return nil
	}
	f := &noopFailure{execution: e.number, how: "crashed", unwound: note.unwound}
	if a.killed {
		f.how = "had to be killed"
	}
	return f
}

// undo takes the session one execution back. The caller has the turn.
func (s *Session) undo(ctx context.Context) (*Undone, error) {
	undoable, refused := s.states.undoable(s.options.History)
	if f := s.noop; f != nil {
		s.noop = nil
		return &Undone{InterpreterID: s.name, Left: len(undoable), Message: f.sentences(undoable, refused)}, nil
	}
	if refused.text != "" {
		return nil, notUndone(refused)
	}
	s.states.takeUp()
	s.keep("") // what the present state needs, should the earlier one not wake
	earlier, ok := s.states.takeEarlier()
	if !ok { // its copy died this moment
		return nil, notUndone(refusal{text: fmt.Sprintf("execution %d can't be undone: the process that held the earlier state has ended", undoable[0])})
	}
	defer s.moved(s.states.ref())
	undone := &Undone{InterpreterID: s.name, Execution: undoable[0]}
	if earlier.kept == pristine {
		s.pendingNotice = restartNote{}
		undone.Notes = s.beginAgain(ctx) // which may have something to tell
	} else {
		w, err := s.wake(s.life, earlier.understudy)
		if err != nil {
			return nil, s.notStepped(undone.Execution, err)
		}
		s.states.stepBack()
		undone.Notes = w.Info().Notes
		s.pendingNotice = restartNote{} // what became of a state that is no more
	}
	s.outdate(undone.Execution)
	s.fatal = 0
	if undone.Execution == s.buggy { // what runs next mends it
		s.fatal = s.buggy
	}
	left, refused := s.states.undoable(s.options.History)
	undone.Left = len(left)
	undone.Message = undone.sentences(earlier, left, refused)
	return undone, nil
}

func notUndone(r refusal) error {
	if r.nothing {
		return Errorf(CodeInvalid, "%s", r.text)
	}
	return Errorf(CodeInvalid, "%s. Instead, %s", r.text, withoutUndo)
}

// beginAgain goes back to the state before anything ran.
func (s *Session) beginAgain(ctx context.Context) (notes []string) {
	s.dropWorker(context.WithoutCancel(ctx))
	if err := s.ensureWorker(ctx); err != nil {
		return []string{fmt.Sprintf("a fresh interpreter could not be started: %v; the next call tries again", err)}
	}
	return nil
}

// notStepped brings back the present state after the earlier one could not be
// had, because err.
func (s *Session) notStepped(execution int, err error) error {
	if s.life.Err() != nil {
		return s.gone()
	}
	if w := s.lead(); w != nil && !hasExited(w) {
		return Errorf(CodeStart, "execution %d could not be undone: %w; the variables are as they were after it", execution, err)
	}
	switch note := s.recover(s.life); {
	case note.restored:
		return Errorf(CodeStart, "execution %d could not be undone: %w; the variables are as they were after it", execution, err)
	case len(note.unwound) > 0:
		return Errorf(CodeStart, "execution %d could not be undone: %w; and the variables as they were after it could not be brought back: %s%s", execution, err, note.lost, note.setback())
	default:
		return Errorf(CodeStart, "execution %d could not be undone: %w; and the variables as they were after it are lost: %s. The next run_python_code starts a fresh interpreter", execution, err, note.lost)
	}
}

func (u *Undone) sentences(earlier checkpoint, left []int, refused refusal) string {
	text := fmt.Sprintf("execution %d is undone: variables, imports and functions are as they were before it. ", u.Execution)
	if earlier.kept == pristine {
		text = fmt.Sprintf("execution %d is undone: there are no variables, as before it. ", u.Execution)
	}
	switch {
	case refused.nothing:
		text += "There is nothing more to undo"
	case len(left) == 0:
		text += capital(refused.text)
	default:
		text += "More can be undone, the latest first: " + namesOf(left)
	}
	return text + ". Files and what went over the network are not undone; child processes are ended"
}

// sentences says that there is nothing of it to undo, and what another undo
// would do.
func (f *noopFailure) sentences(undoable []int, refused refusal) string {
	text := fmt.Sprintf("execution %d %s and left nothing behind, so there is nothing of it to undo. ", f.execution, f.how)
	if len(f.unwound) > 0 {
		text = fmt.Sprintf("execution %d %s and %s lost with it, so there is nothing of them to undo. ", f.execution, f.how, executions(f.unwound))
	}
	switch {
	case refused.nothing:
		return text + "There is nothing more to undo"
	case len(undoable) == 0:
		return text + capital(refused.text)
	}
	return text + fmt.Sprintf("Call undo again to undo execution %d", undoable[0])
}

// executions names executions, as "execution 3 is" or "executions 3 and 4 are".
func executions(all []int) string { return namesOf(all) + " " + be(len(all)) }

// namesOf names executions by their numbers.
func namesOf(all []int) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = fmt.Sprint(n)
	}
	switch last := len(all) - 1; {
	case last == 0:
		return "execution " + words[0]
	case last > 1 && all[last]-all[0] == last:
		return "executions " + words[0] + " to " + words[last]
	default:
		return "executions " + strings.Join(words[:last], ", ") + " and " + words[last]
	}
}

// capital begins a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// be is the verb for a number of things.
func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
