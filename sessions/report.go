package sessions

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"understudy/internal/phrase"
)

// report builds the record of a finished execution, but for its output.
func (s *Session) report(e *execution, a attempt, note restartNote) *Result {
	r := &Result{
		InterpreterID: s.name, Execution: e.number, Kind: e.request.Kind, ExitCode: a.outcome.ExitCode,
		ExecTime: a.execTime(e).Seconds(), TimeLimit: e.limit.Seconds(),
		Result: a.outcome.Result, ResultType: a.outcome.ResultType, ResultEncoding: a.outcome.ResultEncoding,
		Notes: a.outcome.Notes,
	}
	e.reported = a.outcome.Size
	if !a.outcome.Variables.Empty() && !a.lostWorker() { // what a killed worker did is lost with it
		r.Variables = &a.outcome.Variables
	}
	if !a.lostWorker() {
		r.Tasks = a.outcome.Tasks
	}
	r.raised(a.outcome.Exception)
	r.Status = a.status()
	r.Success = r.Status == StatusOK
	switch r.Status {
	case StatusTimeout:
		r.excuse("TimeoutError", fmt.Sprintf("Execution exceeded the time limit of %s", phrase.Duration(e.limit)))
	case StatusInterrupted:
		r.excuse("KeyboardInterrupt", s.whyStopped(a.cause))
		if a.cause == stoppedByOutput { // nobody has asked for it, so that it is news
			r.note(s.whyStopped(a.cause))
		}
	case StatusCrashed:
		r.excuse("InterpreterCrash", a.crash.Reason)
	}
	r.explain(a, a.endedBefore(e))
	s.explainWall(r)
	s.explainMemory(r)
	r.restarted(note)
	if a.cause != stoppedByEnd && !note.gone {
		s.warnUnrecoverable(r, a)
	}
	return r
}

// warnUnrecoverable says whether a crash of a later call could bring back the state that
// this one left. The reason why not is told in the notes when it is news.
func (s *Session) warnUnrecoverable(r *Result, a attempt) {
	none := s.options.Starter.ForkObstacle()
	obstacle := none
	if obstacle == "" && !a.lostWorker() {
		obstacle = a.outcome.Obstacle
	}
	if obstacle == "" && !a.lostWorker() {
		obstacle = s.failing // the next may succeed, but nobody knows yet
	}
	recoverable := obstacle == ""
	r.Recoverable = &recoverable
	if recoverable {
		s.lastWarning = ""
	}
	if recoverable || none != "" { // what holds for every call is told by a crash and by the listing
		return
	}
	if kind := withoutDigits(obstacle); kind != s.lastWarning {
		s.lastWarning = kind
		r.note("if a later call crashes, the variables can't be brought back: " + obstacle)
	}
}

// withoutDigits leaves of a reason what doesn't change from call to call, as
// sizes and the numbers of threads do.
func withoutDigits(reason string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, reason)
}

// status tells what an attempt came to. An execution that ended by itself in
// the moment it was to be stopped is judged by its own end.
func (a attempt) status() Status {
	switch {
	case a.crash == nil && !a.outcome.Signalled && a.outcome.OK:
		return StatusOK
	case a.crash == nil && !a.outcome.Signalled:
		return StatusError
	case a.cause == stoppedByLimit && (a.crash == nil || a.diedStopped()):
		return StatusTimeout
	case a.cause != notStopped && (a.crash == nil || a.diedStopped()):
		return StatusInterrupted
	case a.crash != nil:
		return StatusCrashed
	case a.outcome.OK: // somebody else's SIGINT, which the code took in its stride
		return StatusOK
	default:
		return StatusInterrupted
	}
}

// diedStopped reports whether the worker died of being stopped: it was killed,
// or the code had given SIGINT its default action back.
func (a attempt) diedStopped() bool {
	return a.killed || a.cause != notStopped && a.crash != nil && a.crash.Signal == "SIGINT"
}

// execTime is the worker's own measure of the code. Ours stands in when the
// worker died, and when it was stopped later, as its result was encoded.
func (a attempt) execTime(e *execution) time.Duration {
	if a.crash == nil && !a.endedBefore(e) {
		return a.outcome.ExecTime
	}
	return time.Since(e.started)
}

// endedBefore reports whether the code itself was over when it was to be stopped.
func (a attempt) endedBefore(e *execution) bool {
	return a.cause != notStopped && a.outcome.OK && e.started.Add(a.outcome.ExecTime).Before(a.asked)
}

// whyStopped says what an execution was interrupted for.
func (s *Session) whyStopped(cause stopCause) string {
	if cause == stoppedByOutput {
		return fmt.Sprintf("output limit of %s reached (--print-limit); print less, or write to a file", phrase.Size(s.options.PrintLimit))
	}
	return cause.sentence()
}

// explainMemory names the limit that memory was refused by: Python says only that
// there is none, which looks like a fault of the machine's. The stack of a thread counts
// whole, though little of it is used.
func (s *Session) explainMemory(r *Result) {
	limit := s.options.MemoryLimit
	switch {
	case limit <= 0:
	case strings.HasSuffix(r.ExcType, "MemoryError"):
		r.note(fmt.Sprintf("the memory limit is %s (--memory-limit)", phrase.Size(limit)))
	case r.ExcType == "RuntimeError" && r.ExcInfo != nil && saysOnly(r.ExcInfo.Args, "can't start new thread"):
		r.note(fmt.Sprintf("each thread's stack, mostly 8 MB, counts for the memory limit of %s (--memory-limit): call threading.stack_size(1 << 20) before threads are started, or start fewer; --process-limit bounds them too", phrase.Size(limit)))
	}
}

// saysOnly reports whether the arguments of an exception are one text.
func saysOnly(args []json.RawMessage, text string) bool {
	var said string
	return len(args) == 1 && json.Unmarshal(args[0], &said) == nil && said == text
}

func (c stopCause) sentence() string {
	switch c {
	case stoppedByAgent:
		return "interrupted on request"
	case stoppedByClient:
		return "interrupted because the call was cancelled"
	case stoppedByLeave:
		return "interrupted because its client left (--on-disconnect interrupt)"
	case stoppedByEnd:
		return "stopped because the interpreter was ended"
	default:
		return "interrupted by a signal from outside"
	}
}

func (r *Result) raised(exc *Exception) {
	if exc == nil {
		return
	}
	r.ExcType, r.ExcInfo = exc.Type, &exc.Info
	r.ExcStack, r.Traceback = exc.Stack, exc.Traceback
}

// excuse gives the record an exception of ours in place of the
// KeyboardInterrupt, or the silence, that Python ended with.
func (r *Result) excuse(excType, message string) {
	arg, err := json.Marshal(message)
	if err != nil { // a string always marshals
		panic(err)
	}
	if (r.Kind == RunsCommand || r.Kind == RunsInstall) && r.Status != StatusCrashed {
		r.Traceback = "" // of the interrupt: no line of it is the command's
	}
	r.ExcType = excType
	r.ExcInfo = &ExceptionInfo{Args: []json.RawMessage{arg}, Msg: message}
}

// explain says how the code was stopped and what went with it.
func (r *Result) explain(a attempt, endedBefore bool) {
	if a.ended > 0 {
		r.note(phrase.Count(a.ended, "other process") + " ended with it")
	}
	if a.cause != notStopped && a.crash == nil && a.outcome.Signalled && a.outcome.OK && !endedBefore {
		r.note("the code caught the interrupt and came to its own end")
	}
	if a.crash != nil && a.crash.Trace != "" && r.Traceback == "" {
		r.Traceback = a.crash.Trace
	}
}

func (r *Result) note(texts ...string) {
	r.Notes = append(r.Notes[:len(r.Notes):len(r.Notes)], texts...)
}

// restarted says that another interpreter took the place of one that ended, and
// whether the variables are still there.
func (r *Result) restarted(note restartNote) {
	r.note(note.notes...)
	if note.reason == "" {
		return
	}
	r.InterpreterRestarted = note.failed == nil && !note.gone
	r.RestartReason, r.RestartedBeforeRun = note.reason, note.before && r.InterpreterRestarted
	restored := note.restored
	r.StateRestored = &restored
	if len(note.unwound) > 0 {
		r.StateBefore = note.unwound[0]
	}
	switch {
	case len(note.unwound) > 0 && note.lost != "": // those of before are back
		r.note("what " + namesOf(note.unwound) + " did to the variables could not be brought back: " + note.lost)
	case note.lost != "":
		r.note("the variables could not be brought back: " + note.lost)
	}
	if note.failed != nil {
		r.note(fmt.Sprintf("a fresh interpreter could not be started: %v; the next call tries again", note.failed))
	}
}
