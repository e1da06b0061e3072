package sessions

import (
	"fmt"
	"time"

	"understudy/internal/phrase"
)

// interruption says what stopping e did; e is done. whoGets is a sentence about
// its output.
func (e *execution) interruption(id string, elapsed time.Duration, whoGets string) *Interruption {
	r := e.outcome()
	ending := "its process ended: " + r.RestartReason
	if e.killed {
		ending = "its process had to be killed"
	}
	i := &Interruption{
		InterpreterID: id, Execution: e.number, Elapsed: elapsed,
		// The record may also tell of a restart from before this execution.
		Stopped: r.Status == StatusInterrupted, StateKept: !e.lostWorker,
		StateRestored: e.lostWorker && r.StateRestored != nil && *r.StateRestored,
	}
	if n := len(r.ExcStack); n > 0 && i.Stopped {
		i.Where = &r.ExcStack[n-1]
	}
	i.Message = i.sentence(r, ending)
	if i.Stopped {
		i.Message += ". " + whoGets
	}
	return i
}

// sentence tells what the interrupt did; ending says how the process came to its
// end, if it did.
func (i *Interruption) sentence(r *Result, ending string) string {
	if !i.Stopped {
		return fmt.Sprintf("execution %d came to its own end (%s) before the interrupt reached it", i.Execution, r.Status)
	}
	text := fmt.Sprintf("stopped execution %d after %s", i.Execution, phrase.Duration(i.Elapsed))
	if i.Where != nil {
		text += fmt.Sprintf(" at line %d of %s", i.Where.Line, i.Where.File)
		if i.Where.Text != "" {
			text += ": " + i.Where.Text
		}
	}
	switch {
	case i.StateKept:
		return text + "; its variables are kept"
	case i.StateRestored:
		return text + "; " + ending + "; its variables are as they were before the call"
	}
	text += "; " + ending + "; " + r.remainder()
	if r.InterpreterRestarted && r.StateBefore == 0 {
		text += ". A fresh interpreter is ready"
	}
	return text
}

// runningNow returns the execution that runs now, or nil.
func (s *Session) runningNow() *execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}
