package sessions

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"understudy/internal/phrase"
	"understudy/sessions/output"
)

// stopCause says why an execution is to be stopped before its own end.
type stopCause int

const (
	notStopped      stopCause = iota
	stoppedByLimit            // its time limit passed
	stoppedByOutput           // it printed more than it may
	stoppedByAgent            // the agent asked for it
	stoppedByClient           // the caller cancelled its call
	stoppedByEnd              // the session is being ended
	stoppedByLeave            // its client has left, and the operator wants that
)

// execution is one run of code, from its turn to its result.
type execution struct {
	number     int
	request    Request
	trial      *Trial // nil for what is no trial
	operator   bool   // the operator runs it, not the session's owner
	lineage    lineage
	limit      time.Duration
	started    time.Time
	transcript *output.Transcript
	questions  questions
	tools      *toolCalls
	done       chan struct{} // closed when result is set
	killed     bool          // it ignored the interrupt; set before done
	lostWorker bool          // its process ended; set before done
	died       bool          // its process ended, and not with the interpreter; set before done

	// life ends with the session or its interpreter, and its cause says which:
	// no grace then.
	life      context.Context
	traced    func(Result) // is told how it ended; nil: nobody traces
	endLife   context.CancelCauseFunc
	abandoned atomic.Bool // a call that waited for it was cancelled
	noted     sync.Once   // the Recorder has heard that it runs, or need not

	stopMu  sync.Mutex
	cause   stopCause       // why it is to be stopped; the first wins
	stopper func(stopCause) // stops the running attempt; nil between two

	// What it holds once it is over, in bytes; guarded by the history's mu.
	memory  int
	spooled int64

	// Guarded by the session's mu.
	deadline   time.Time // when it is to be stopped; zero: not by then
	supervised bool      // the Recorder is told that it runs
	waiters    int       // calls that wait for it
	told       bool      // another answer said how it ended
	undone     bool      // nothing is left of what it did to the variables

	mu        sync.Mutex
	result    *Result // without output, which the transcript hands out
	reported  int     // bytes of the worker's report on it
	collected bool
}

func newExecution(number int, r RunRequest, t *output.Transcript, l lineage) *execution {
	life, endLife := context.WithCancelCause(context.Background())
	request := Request{Execution: number, Kind: r.kind(), Code: r.Code, Arguments: r.Arguments, ResultVarName: r.ResultVarName}
	if r.Trial != nil {
		request.MetricVarName = r.Trial.MetricVarName
	}
	e := &execution{
		number: number, request: request, trial: r.Trial, operator: r.Operator, lineage: l, limit: r.Timeout,
		started: time.Now(), transcript: t,
		done: make(chan struct{}), life: life, endLife: endLife,
	}
	if t != nil {
		t.Overflow = func() { e.requestStop(stoppedByOutput) }
	}
	return e
}

// requestStop asks the execution to end; it doesn't wait.
func (e *execution) requestStop(cause stopCause) {
	e.stopMu.Lock()
	defer e.stopMu.Unlock()
	if e.cause != notStopped {
		return
	}
	e.cause = cause
	if e.stopper != nil {
		e.stopper(cause)
	}
}

// end stops the execution without grace, as its interpreter is not to live on.
func (e *execution) end(why error) {
	e.endLife(why)
	e.requestStop(stoppedByEnd)
}

// onStop has stop called, once and under a lock, when a stop is asked for or
// has been; nil ends that.
func (e *execution) onStop(stop func(stopCause)) {
	e.stopMu.Lock()
	defer e.stopMu.Unlock()
	e.stopper = stop
	if stop != nil && e.cause != notStopped {
		stop(e.cause)
	}
}

// abandon asks the execution to end because nobody waits for it any more.
func (e *execution) abandon() {
	e.abandoned.Store(true)
	e.requestStop(stoppedByClient)
}

func (e *execution) finish(r *Result) {
	e.mu.Lock()
	e.result = r
	e.mu.Unlock()
	close(e.done)
	e.endLife(nil) // lets go of what life holds
}

// collect returns the final result with the output that nobody took yet, to
// the first who asks; later ones get nil.
func (e *execution) collect() *Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.collected {
		return nil
	}
	e.collected = true
	r := *e.result
	r.fill(e.transcript.Take())
	return &r
}

func (e *execution) isCollected() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.collected
}

// snapshot returns the record of a running execution, with its output since
// the last one.
func (e *execution) snapshot(interpreterID string) *Result {
	r := e.soFar(interpreterID)
	r.fill(e.transcript.Take())
	return r
}

// soFar is the record of a running execution without its output.
func (e *execution) soFar(interpreterID string) *Result {
	prompt, asks, person := e.questions.pending()
	r := &Result{
		InterpreterID: interpreterID, Execution: e.number, Kind: e.request.Kind, Status: StatusRunning,
		ExecTime: time.Since(e.started).Seconds(), TimeLimit: e.limit.Seconds(),
	}
	if asks {
		r.Status, r.Prompt, r.PersonAsked = StatusAsking, prompt, person
	}
	return r
}

func (e *execution) progress() Progress {
	return Progress{Elapsed: time.Since(e.started), Limit: e.limit, LastLine: e.transcript.LastLine()}
}

// fill adds what the transcript handed out.
func (r *Result) fill(x output.Excerpt) {
	r.Stdout, r.StdoutTruncated = x.Text[Stdout], x.Truncated[Stdout]
	r.Stderr, r.StderrTruncated = x.Text[Stderr], x.Truncated[Stderr]
	r.Pieces, r.TermOut = x.Pieces, x.Interleaved()
	r.Figures, r.Artifacts, r.OutputPath = x.Figures, x.Artifacts, x.Path
	r.Between = x.Between
	r.Notes = append(r.Notes[:len(r.Notes):len(r.Notes)], x.Notes...)
	for _, f := range x.Figures {
		if f.Path != "" {
			r.FigStoragePath = append(r.FigStoragePath, f.Path)
		}
	}
}

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
