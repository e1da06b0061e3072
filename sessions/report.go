package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
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
	r.ToolCalls, _ = e.tools.finish()
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

// Wall says what confines a worker.
type Wall struct {
	// Mode is the value of --sandbox, as "standard".
	Mode string `json:"mode"`
	// Layers are those that work here, as "landlock".
	Layers []string `json:"layers"`
	// Open are sentences about what the wall can't close here.
	Open []string `json:"open,omitempty"`
	// Network are the hosts that code may reach, NetworkAll alone for all; none if empty.
	Network []string `json:"network,omitempty"`
}

// NetworkAll stands in Wall.Network for the network as it is.
const NetworkAll = "all"

// explainWall names the wall where it is likely the cause of an exception: the agent
// would else look for the fault in its code, or in the machine.
func (s *Session) explainWall(r *Result) {
	if r.Status != StatusError || r.ExcInfo == nil {
		return
	}
	w := s.lead()
	if w == nil {
		return
	}
	wall := w.Info().Wall
	if wall == nil {
		return
	}
	switch {
	case isOfNetwork(r.ExcType, r.ExcInfo):
		if note := wall.ofNetwork(); note != "" {
			r.note(note)
		}
	case s.isOfFiles(r.ExcType, r.ExcInfo, r.Traceback):
		r.note("the sandbox may be why: code writes only to its working directory and the temporary directory, and reads these, the system and Python; the operator can add paths with --read and --write")
	}
}

func (w *Wall) ofNetwork() string {
	switch {
	case len(w.Network) == 0:
		return "the sandbox has no network; the operator can allow hosts with --allow-net"
	case w.Network[0] == NetworkAll:
		return ""
	}
	return "the sandbox allows HTTP and HTTPS to these hosts only: " + strings.Join(w.Network, ", ") + "; the operator can allow more with --allow-net"
}

// ofNetwork are the exceptions, by their classes' own names, with which Python and its
// usual libraries say that a connection could not be made.
var ofNetwork = []string{
	"gaierror", "herror", "URLError", "ConnectionError", "ConnectionRefusedError", // Python, and requests
	"ConnectTimeout", "ProxyError", // requests, httpx
	"NewConnectionError", "MaxRetryError", "NameResolutionError", "ConnectTimeoutError", // urllib3
	"ConnectError", "ClientConnectorError", "ClientConnectorDNSError", "ClientProxyConnectionError", "ServerNotFoundError",
}

func isOfNetwork(class string, info *ExceptionInfo) bool {
	if slices.Contains(ofNetwork, class) {
		return true
	}
	unreachable := []syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EAFNOSUPPORT}
	// That is how the server's proxy refuses a host.
	return class == "OSError" && (slices.Contains(unreachable, errnoOf(info)) || strings.Contains(info.Msg+firstText(info), "Tunnel connection failed: 403"))
}

// errnoOf is the number of an OSError, 0 if it has none.
func errnoOf(info *ExceptionInfo) (errno syscall.Errno) {
	if len(info.Args) == 0 || json.Unmarshal(info.Args[0], &errno) != nil {
		return 0
	}
	return errno
}

func firstText(info *ExceptionInfo) (text string) {
	if len(info.Args) == 0 || json.Unmarshal(info.Args[0], &text) != nil {
		return ""
	}
	return text
}

// namedPath is the file at the end of an OSError's line.
var namedPath = regexp.MustCompile(`\[Errno \d+\] [^\n]*: '(/[^'\n]*)'\s*$`)

// isOfFiles reports whether an exception is about a file that a wall may keep away. One
// that is hidden is not found.
func (s *Session) isOfFiles(class string, info *ExceptionInfo, traceback string) bool {
	errno := errnoOf(info)
	hidden := class == "FileNotFoundError" && errno == syscall.ENOENT
	denied := class == "PermissionError" || class == "OSError" && errno == syscall.EROFS
	found := namedPath.FindStringSubmatch(traceback)
	if !hidden && !denied || found == nil {
		return false
	}
	if errno == syscall.EROFS { // only what is mounted for the session is read-only
		return true
	}
	own := []string{s.dirs.Work, s.dirs.Private, "/tmp"}
	if hidden { // what is not there is not there for others either
		own = append(own, "/usr", "/bin", "/sbin", "/lib", "/etc", "/opt", "/proc", "/sys", "/dev")
	}
	return !slices.ContainsFunc(own, func(dir string) bool { return isBelow(found[1], dir) })
}

func isBelow(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// countFailure brings the number of runs that have failed one after another up
// to date, and tells r. Success begins anew. A run that was interrupted, or left in
// the debugger, has shown nothing: somebody wanted it to end, and the number stays. An undo leaves
// it too, and a branch inherits it, because both go on with what was tried; only
// a fresh interpreter (reset, restart) is a new beginning. Trials don't count either
// way: that many of them fail is what an experiment is like, and what is to be done
// then is not for the user to say. The caller has the turn.
func (s *Session) countFailure(r *Result, trial *Trial) {
	if trial != nil {
		return
	}
	switch {
	case r.Status == StatusOK:
		s.setFailures(0)
	case r.Status != StatusInterrupted && r.ExcType != "BdbQuit":
		r.FailuresInARow = s.failedOnceMore()
		r.Stop = s.options.stopAdvice(r.FailuresInARow)
	}
}

// refused counts code that the Verifier refused as a run that failed, and has
// the refusal say when to stop. The caller has the turn.
func (s *Session) refused(err error) error {
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != CodeRefused {
		return err // it was not judged
	}
	advice := s.options.stopAdvice(s.failedOnceMore())
	if advice == "" {
		return err
	}
	return &Error{Code: refusal.Code, Message: refusal.Message + "\n[stop] " + advice, Err: refusal.Err}
}

// stopAdvice is what an agent is told after as many failures, "" while it may
// go on.
func (o *Options) stopAdvice(failures int) string {
	if o.MaxRetries == 0 || failures < o.MaxRetries {
		return ""
	}
	return fmt.Sprintf("%s failed. Don't try again in the same way: stop, tell the user what fails, and ask how to go on.", inARow(failures))
}

func inARow(failures int) string {
	if failures == 1 {
		return "This run has"
	}
	return fmt.Sprintf("%d runs in a row have", failures)
}

func (s *Session) failedOnceMore() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	return s.failures
}

func (s *Session) setFailures(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = n
}

// failedInARow returns how many runs have failed one after another.
func (s *Session) failedInARow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}
