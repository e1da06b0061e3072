package sessions

import (
	"fmt"
	"time"
)

// interruption says what stopping e did; e is done.
func (e *execution) interruption(id string, elapsed time.Duration) *Interruption {
	e.mu.Lock()
	r := e.result
	e.mu.Unlock()
	ending := "its process ended: " + r.RestartReason
	if e.killed {
		ending = "its process had to be killed"
	}
	i := &Interruption{
		InterpreterID: id, Execution: e.number, Elapsed: elapsed,
		Stopped: r.Status == StatusInterrupted, StateKept: r.StateRestored == nil,
		StateRestored: r.StateRestored != nil && *r.StateRestored,
	}
	if n := len(r.ExcStack); n > 0 && i.Stopped {
		i.Where = &r.ExcStack[n-1]
	}
	i.Message = i.sentence(r, ending)
	return i
}

// sentence tells what the interrupt did; ending says how the process came to its
// end, if it did.
func (i *Interruption) sentence(r *Result, ending string) string {
	if !i.Stopped {
		return fmt.Sprintf("execution %d came to its own end (%s) before the interrupt reached it", i.Execution, r.Status)
	}
	text := fmt.Sprintf("stopped execution %d after %s", i.Execution, InWords(i.Elapsed))
	if i.Where != nil {
		text += fmt.Sprintf(" at line %d of %s", i.Where.Line, i.Where.File)
		if i.Where.Text != "" {
			text += fmt.Sprintf(": %s", i.Where.Text)
		}
	}
	if i.StateKept {
		return text + "; its variables are kept. Operation \"wait\" returns its output"
	}
	if i.StateRestored {
		return text + "; " + ending + "; its variables are as they were before the call. Operation \"wait\" returns its output"
	}
	text += "; its variables are lost: " + r.RestartReason
	if r.InterpreterRestarted {
		text += ". A fresh interpreter is ready"
	}
	return text + ". Operation \"wait\" returns its output"
}

// runningNow returns the execution that runs now, or nil.
func (s *Session) runningNow() *execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}
