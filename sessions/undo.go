package sessions

import (
	"context"
	"fmt"
	"strings"
)

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

// Undo gives a session the variables that it had before its last execution
// that had an effect. Files stay as they are; child processes are ended. An undo
// right after an execution that left nothing behind says so and does nothing.
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
	defer s.moved(s.states.place())
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
