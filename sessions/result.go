package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"understudy/internal/phrase"
	"understudy/internal/screen"
)

// Code says who must act on an Error.
type Code string

// The codes of errors that reach the agent. Any other error is a fault of ours.
const (
	CodeBusy     Code = "busy"      // the session runs something else
	CodeNotFound Code = "not_found" // no such interpreter for this client
	CodeLimit    Code = "limit"     // a limit of the operator's was reached
	CodeRefused  Code = "refused"   // the code may not run
	CodeInvalid  Code = "invalid"   // an argument is wrong
	CodeClosed   Code = "closed"    // the server is stopping
	CodeStart    Code = "start"     // no interpreter could be started
)

// Error is an error that the agent can act on: nothing ran, and Message says
// what to do next.
type Error struct {
	Code    Code
	Message string
	Err     error // the cause, for the log; may be nil
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf builds an Error of the given code.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// ErrSyntax is the error of a Verifier that finds the code to be no valid Python. It
// is for Python in the session to report that, where code may have changed what is
// valid: a __future__ import of an earlier execution does.
var ErrSyntax = errors.New("the code is not valid Python")

// CodeOf returns the code of an Error in err's chain, or "" for a fault of ours.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Status says how an execution stands.
type Status string

// The states of an execution.
const (
	StatusOK          Status = "ok"
	StatusError       Status = "error"
	StatusTimeout     Status = "timeout"
	StatusInterrupted Status = "interrupted"
	StatusCrashed     Status = "crashed"
	StatusRunning     Status = "running"
	StatusAsking      Status = "asking" // running, and waiting for a line of input
)

// Runs reports whether the execution has not ended yet.
func (s Status) Runs() bool { return s == StatusRunning || s == StatusAsking }

// Result is the record of an execution as programs read it. What does not
// apply is absent.
type Result struct {
	InterpreterID string `json:"interpreter_id" jsonschema_description:"Which interpreter ran the code"`
	Execution     int    `json:"execution" jsonschema_description:"Number of this run in its interpreter, from 1"`
	Status        Status `json:"status" jsonschema:"enum=ok,enum=error,enum=timeout,enum=interrupted,enum=crashed,enum=running,enum=asking" jsonschema_description:"How the run stands"`
	Success       bool   `json:"success" jsonschema_description:"True for status ok only"`

	Result         json.RawMessage `json:"result,omitempty" jsonschema_description:"The value of result_var_name as JSON, or what the plugin returned; null when it is not defined"`
	ResultType     string          `json:"result_type,omitempty" jsonschema_description:"Python type of the value"`
	ResultEncoding string          `json:"result_encoding,omitempty" jsonschema:"enum=json,enum=repr" jsonschema_description:"repr when the value has no JSON form and result holds its repr as a string"`
	Notes          []string        `json:"notes,omitempty" jsonschema_description:"What a reader should know: an undefined variable, values that JSON can't hold, what was stopped"`

	Between string   `json:"between_calls,omitempty" jsonschema_description:"What threads, tasks and child processes printed since the run before, both streams in order of arrival; not part of stdout and stderr"`
	Stdout  string   `json:"stdout" jsonschema_description:"What was printed on standard output since the last answer"`
	Stderr  string   `json:"stderr" jsonschema_description:"The same for standard error"`
	TermOut []string `json:"term_out,omitempty" jsonschema_description:"Both streams in order of arrival and the traceback below them, with --trials or --structured-content always; the last entry says how long it took"`

	// Pieces are TermOut before display() and clear_output() have changed it.
	Pieces []screen.Piece `json:"-"`

	ExitCode *int `json:"exit_code,omitempty" jsonschema_description:"Exit code of a shell command, 128 and the signal's number when a signal ended it; status is ok for 0 and error for any other"`

	ExecTime  float64 `json:"exec_time" jsonschema_description:"Seconds"`
	TimeLimit float64 `json:"time_limit" jsonschema_description:"Seconds; 0 is no limit"`

	ExcType   string         `json:"exc_type,omitempty" jsonschema_description:"Class of the exception that ended the run; TimeoutError at the time limit, InterpreterCrash when the process died"`
	ExcInfo   *ExceptionInfo `json:"exc_info,omitempty" jsonschema_description:"Parts of the exception"`
	ExcStack  []StackFrame   `json:"exc_stack,omitempty" jsonschema_description:"Frames of the user's code as [file; line; function; text]"`
	Traceback string         `json:"traceback,omitempty" jsonschema_description:"As Python prints it, without frames of ours; after a crash the report of faulthandler"`

	Figures        []Figure   `json:"figures,omitempty" jsonschema_description:"Figures shown since the last answer"`
	FigStoragePath []string   `json:"fig_storage_path,omitempty" jsonschema_description:"Paths of the figures, as in figures"`
	Artifacts      []Artifact `json:"artifacts,omitempty" jsonschema_description:"Files that the run has kept for its reader, since the last answer"`
	Base64URI      []string   `json:"base64_uri,omitempty" jsonschema_description:"Figures as data URIs, with --figures inline only"`

	InterpreterRestarted bool   `json:"interpreter_restarted,omitempty" jsonschema_description:"Another interpreter took the place of one that died"`
	RestartReason        string `json:"restart_reason,omitempty" jsonschema_description:"Why the interpreter died"`
	RestartedBeforeRun   bool   `json:"restarted_before_run,omitempty" jsonschema_description:"The old interpreter died before this run began, so that what this run did is kept, whatever state_restored says of what came before it"`
	StateRestored        *bool  `json:"state_restored,omitempty" jsonschema_description:"After a restart: true when the variables came back as they were before this run, false when they were lost with the old interpreter"`
	StateBefore          int    `json:"state_before,omitempty" jsonschema_description:"After a restart that could bring back an older state only: the variables are as they were before this execution"`
	Recoverable          *bool  `json:"recoverable,omitempty" jsonschema_description:"Whether the variables as this run left them can be copied and so survive a later run's crash. The copy is made as soon as nobody calls: a crash of calls that come at once may bring back those of a few runs before (state_before)"`

	Tasks int `json:"tasks,omitempty" jsonschema_description:"How many tasks of the event loop (servers and timers where there are none) go on after the run, so that the variables change until the next"`

	ToolCalls *ToolCalls `json:"tool_calls,omitempty" jsonschema_description:"The calls of other MCP servers' tools that the code made"`

	FailuresInARow int `json:"failures_in_a_row,omitempty" jsonschema_description:"How many runs of this interpreter have failed one after another, this one the last"`
	// Stop is set from --max-retries failures in a row on.
	Stop string `json:"stop,omitempty" jsonschema_description:"After too many failures in a row: that the agent should stop and ask its user"`

	Trial *TrialReport `json:"trial,omitempty" jsonschema_description:"How the run is judged as a trial of an experiment"`

	Prompt string `json:"prompt,omitempty" jsonschema_description:"With status asking: what the code asks with"`
	// PersonAsked says that a wait has the client's user asked.
	PersonAsked bool `json:"-"`
	// Question is one that the call returns with, for the client to put.
	Question *Asked `json:"-"`

	// Kind says what was run, for the words of the answer.
	Kind Kind `json:"-"`
	// Heading says whose answer it is when a wait returns another than the latest.
	Heading        string `json:"-"`
	AnswersWaiting int    `json:"answers_waiting,omitempty" jsonschema_description:"In an answer to wait: how many more answers wait for it"`

	// Undone says that a restart, a reset, an undo or a crash came after the run, and took
	// what it had done to the variables.
	Undone bool `json:"-"`

	Variables *VariableDiff `json:"variables,omitempty" jsonschema_description:"Names that the run added, changed and removed"`

	// The numbers of characters that were left out between head and tail.
	StdoutTruncated int64  `json:"stdout_truncated,omitempty" jsonschema_description:"Characters left out of stdout"`
	StderrTruncated int64  `json:"stderr_truncated,omitempty" jsonschema_description:"Characters left out of stderr"`
	OutputURI       string `json:"output_uri,omitempty" jsonschema_description:"Resource with the whole output when it was long or cut"`
	OutputPath      string `json:"output_path,omitempty" jsonschema_description:"File with the whole output, on the server's machine"`
}

// Terminal is what a terminal would have shown of the run: its output, in pieces, and the
// traceback below it. Programs that read experiments read nothing else.
func (r *Result) Terminal(output []string) []string {
	text := r.ErrorText()
	if text == "" {
		return output
	}
	if last := len(output) - 1; last >= 0 && !strings.HasSuffix(output[last], "\n") {
		text = "\n" + text
	}
	return append(slices.Clone(output), text)
}

// ErrorText is the traceback, or of an end without one the line that it would end with; ""
// of a run that ended well or goes on, and of one whose TimeLine says all.
func (r *Result) ErrorText() string {
	text := r.Traceback
	if text == "" && r.ExcType != "" && r.Status != StatusTimeout {
		text = r.ExcType
		if r.ExcInfo != nil && r.ExcInfo.Msg != "" {
			text += ": " + r.ExcInfo.Msg
		}
	}
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// TimeLine says how long a run took that is over.
func (r *Result) TimeLine() string {
	limit := "none"
	if r.TimeLimit > 0 {
		limit = phrase.Duration(SecondsOf(r.TimeLimit))
	}
	if r.Status == StatusTimeout {
		return fmt.Sprintf("TimeoutError: Execution exceeded the time limit of %s.", limit)
	}
	return fmt.Sprintf("Execution time: %s (time limit is %s).", phrase.Duration(SecondsOf(r.ExecTime)), limit)
}

// SecondsOf turns a record's seconds into a Duration.
func SecondsOf(s float64) time.Duration {
	if s >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}
