package sessions

import (
	"context"
	"fmt"
	"strings"
)

// Undone says what an undo did.
type Undone struct {
	InterpreterID string `json:"interpreter_id"`
	// Execution is the number of the one that was undone.
	Execution int `json:"execution"`
	// Left is how many earlier ones can still be undone.
	Left int `json:"left"`
	// Notes are plain sentences about what did not come back.
	Notes []string `json:"notes,omitempty"`
	// Message tells all this, but for the notes, in sentences.
	Message string `json:"message"`
}

// withoutUndo is how to get on where an execution can't be undone.
const withoutUndo = "assign the earlier values again, or restart the interpreter and run the code up to there"

// Undo gives a session the variables that it had before its last execution
// that had an effect. Files and child processes stay as they are.
func (m *Manager) Undo(ctx context.Context, client Client, id string) (*Undone, error) {
	s, err := m.known(client, id)
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
		return nil, Errorf(CodeBusy, "execution %d ran in interpreter %q meanwhile; nothing was undone. Look at its result, and undo it if it is the one to be undone", now, s.id)
	}
	return s.undo(ctx)
}

// undo takes the session one execution back. The caller has the turn.
func (s *Session) undo(ctx context.Context) (*Undone, error) {
	undoable, refusal := s.states.undoable(s.options.History)
	if refusal != "" {
		return nil, s.notUndone(refusal)
	}
	earlier, ok := s.states.takeEarlier()
	if !ok { // its copy died this moment
		return nil, s.notUndone(fmt.Sprintf("execution %d can't be undone: the process that held the earlier state has ended", undoable[0]))
	}
	undone := &Undone{InterpreterID: s.id, Execution: undoable[0]}
	if earlier.pristine {
		undone.Notes = s.beginAgain(ctx)
	} else {
		w, err := s.wake(s.life, earlier.understudy)
		if err != nil {
			return nil, s.notStepped(undone.Execution, err)
		}
		s.states.stepBack()
		undone.Notes = w.Info().Notes
	}
	s.untold = restartNote{} // what became of a state that is no more
	left, refusal := s.states.undoable(s.options.History)
	undone.Left = len(left)
	undone.Message = undone.sentences(earlier, left, refusal)
	return undone, nil
}

func (s *Session) notUndone(refusal string) error {
	if refusal == nothingRan {
		return Errorf(CodeInvalid, "%s", refusal)
	}
	return Errorf(CodeInvalid, "%s. Instead, %s", refusal, withoutUndo)
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
	note := s.bringBack(s.life)
	if note.restored {
		return Errorf(CodeStart, "execution %d could not be undone: %w; the variables are as they were after it", execution, err)
	}
	return Errorf(CodeStart, "execution %d could not be undone: %w; and the variables as they were after it are lost: %s. The next run_python_code starts a fresh interpreter", execution, err, note.lost)
}

func (u *Undone) sentences(earlier checkpoint, left []int, refusal string) string {
	text := fmt.Sprintf("execution %d is undone: variables, imports and functions are as they were before it", u.Execution)
	if earlier.pristine {
		text = fmt.Sprintf("execution %d is undone: there are no variables, as before it", u.Execution)
	}
	switch {
	case refusal == nothingRan:
		text += ". There is nothing more to undo"
	case len(left) == 0:
		text += "; " + refusal
	case len(left) == 1:
		text += fmt.Sprintf(". One more can be undone: execution %d", left[0])
	default:
		numbers := make([]string, len(left))
		for i, n := range left {
			numbers[i] = fmt.Sprint(n)
		}
		text += fmt.Sprintf(". %d more can be undone, the latest first: executions %s", len(left), strings.Join(numbers, ", "))
	}
	return text + ". Files, child processes and what went over the network are not undone"
}
