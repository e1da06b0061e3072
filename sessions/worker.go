package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"understudy/sessions/output"
	"understudy/sessions/workdir"
)

// Starter starts workers: by spawning a process, or by forking a warm one.
type Starter interface {
	// Start returns a worker that is ready to run code. The context bounds
	// the start only; the worker lives until Close or Kill.
	Start(ctx context.Context, spec Spec) (Worker, error)
	// ForkObstacle says in a clause why this starter's workers can't be
	// forked, "" when they can.
	ForkObstacle() string
}

// Waiter is a Starter whose starts may wait for something slow that is no worker's.
type Waiter interface {
	// Waiting says in a clause what all starts wait for now, as "the workspace is
	// being prepared (3.1 of 12 GB)", and "" when they wait for nothing.
	Waiting() string
}

// Isolator is a Starter whose workers are behind walls, one for each group.
type Isolator interface {
	workdir.Isolator
	// Confines reports whether there are walls at all; without, the other methods are
	// not called. The answer is always the same, and waits for nothing.
	Confines() bool
}

// Spec says what a worker is started for.
type Spec struct {
	// InterpreterID is the session's id.
	InterpreterID string
	// Group is the id of the session's group, the same for all branches.
	Group string
	// Home is the absolute path of the directory that only the group reaches, with
	// what is installed for it in packages; "" where there is none yet. There is one
	// from the start behind a wall, with tmp in it.
	Home string
	// Workdir is the absolute path of the session's working directory.
	Workdir string
	// PrivateDir is that of the directory for figures, artifacts and the code file.
	PrivateDir string
	// Python says which Python the worker runs, in the words of the Starter; "" is its
	// usual one. A branch has that of its parent.
	Python string
	// FirstExecution is the number that the worker's first execution bears,
	// so that figures and source lines of a restarted session keep unique names.
	FirstExecution int
}

// Worker is one live Python interpreter. Run, Equip, Variables and Fork are called one
// at a time; Interrupt, Kill and Usage at any time.
type Worker interface {
	// Run executes code and returns when the worker says it is done. What the
	// code prints and draws goes to sink before Run returns. When the worker
	// dies instead, the error is a *CrashError and the sink has all that was
	// printed before. Run returns early with ctx's error only if the worker
	// was killed through Kill and can't answer any more.
	Run(ctx context.Context, request Request, sink Sink) (Outcome, error)
	// Equip says which plugins and session variables executions find from now
	// on. Its copies have what it had.
	Equip(ctx context.Context, equipment Equipment) error
	// Variables describes what the session's namespace holds.
	Variables(ctx context.Context) (Namespace, error)
	// Fork copies the idle worker with all its variables. The error is a
	// *ForkError when the worker lives on and says why it can't be copied.
	// A copy for a branch has no tie to the worker; any other must be woken or
	// dismissed before the last worker of its line is closed.
	Fork(ctx context.Context, purpose Purpose) (Understudy, error)
	// Interrupt asks the running code to stop: SIGINT to the worker's process
	// group, child processes included. It returns ErrNothingRuns when no Run is
	// under way: not yet, or not any more.
	Interrupt() error
	// Kill ends the worker and all its descendants at once; Run then returns
	// a *CrashError. It returns the number of processes it ended beside the
	// worker itself.
	Kill() (descendants int)
	// Close ends the worker in an orderly way, and by force when the context
	// ends first. No process of the worker's is left when it returns.
	Close(ctx context.Context) error
	// Exited is closed when the worker's process has ended.
	Exited() <-chan struct{}
	// Ended says how the process came to its end; nil before Exited is closed.
	Ended() *CrashError
	// Info says what was learnt when the worker started.
	Info() WorkerInfo
	// Usage says what the worker's process uses now.
	Usage() (Usage, error)
	// Between hands out, once, what was printed since the last Run, in order of arrival
	// and bounded: by threads, tasks and child processes. While Run is under way there is
	// nothing. Unclaimed is how many bytes that would be.
	Between() []Piece
	Unclaimed() int
	// Resident is the memory of Usage alone, which is had in microseconds; 0 where
	// it is not known.
	Resident() uint64
}

// ErrNothingRuns says that there was nothing to interrupt.
var ErrNothingRuns = errors.New("no code is running")

// Purpose says what a copy of a worker is for.
type Purpose int

// The purposes of a copy.
const (
	ToStandBy Purpose = iota // it may take the place of its worker
	ToBranch                 // it becomes the worker of another session
)

// Understudy is a copy of a worker that sleeps, with the state that the worker
// had when it was copied.
type Understudy interface {
	// Rouse has the copy show that it works, so that nobody is ended for one that doesn't.
	// After an error the copy is gone.
	Rouse(ctx context.Context) error
	// Wake makes it a worker: one that stands by takes the place of its
	// worker, which must have exited and must not have been closed; one for a
	// branch becomes the worker of the session that spec describes. What did
	// not come along is in the Notes of the worker's Info. After an error the
	// copy is gone.
	Wake(ctx context.Context, spec Spec) (Worker, error)
	// Dismiss ends it and waits for nothing. It may be called at any time and
	// more than once; after Wake it does nothing.
	Dismiss()
	// Exited is closed when its process has ended.
	Exited() <-chan struct{}
	// Usage says what its process uses now.
	Usage() (Usage, error)
}

// ForkError says why a worker could not be copied. Reason is a clause for the
// agent, as "2 Python threads are running (Thread-1, Thread-2)".
type ForkError struct{ Reason string }

func (e *ForkError) Error() string { return e.Reason }

// WorkerInfo is what a worker says of itself when it is ready.
type WorkerInfo struct {
	PID    int
	Python string // version, as in "3.11.7"
	// Environment says which Python that is where a reader would not expect it, as "of
	// this project's .venv"; else "".
	Environment string
	// Introduction are sentences about it for the first answer of a session.
	Introduction []string
	// Origin is what a fresh worker was made from: "zygote", "root" or "spawn".
	Origin string
	// InitError is the traceback of the operator's --init-code, if it failed.
	InitError string
	// Notes are plain sentences about what a woken copy had to leave behind.
	Notes []string
	// Wall confines the worker; nil if nothing does.
	Wall *Wall
}

// Usage is what a process uses, in bytes; 0 where the system can't tell.
type Usage struct {
	// Memory is the resident size.
	Memory uint64
	// Private is the part of it that no other process shares.
	Private uint64
}

// Request is one execution as the worker gets it.
type Request struct {
	Execution     int
	Kind          Kind
	Code          string          // the code, the plugin's name, the command, or an install as a line of code
	Arguments     json.RawMessage // of a plugin, or an install: an object
	ResultVarName string          // "" asks for no variable
	MetricVarName string          // "" measures nothing
	// CompileOnly is set for code that could not be verified, as it is no Python:
	// the worker says so as always, and runs nothing of it if it finds otherwise.
	CompileOnly bool
	// Judged is what of the code was judged, and runs; its zero value where nobody has.
	Judged Judged
	// PackagesDir is where the packages are that the session has installed for itself,
	// and those that it was branched from and that were branched from it; "" for none.
	PackagesDir string
}

// Kind says what an execution runs.
type Kind string

// The kinds of executions.
const (
	RunsCode    Kind = "code"    // Python code
	RunsPlugin  Kind = "plugin"  // a plugin is called, with arguments
	RunsCommand Kind = "command" // a command of the shell
	// RunsInstall installs packages for the session and its branches. Arguments are
	// {"packages": requirements, "hosts": what can be reached, left out where all can},
	// and Code is the same as a line of code, for who verifies, records or shows it.
	RunsInstall Kind = "install"
	// RunsFile is for a Verifier only: the bytes of a file with Python code, which
	// says itself how they are to be read.
	RunsFile Kind = "file"
)

// Sink receives what an execution says while it runs. Its methods are called
// from the worker's goroutines, never concurrently for one stream.
type Sink interface {
	// Output takes bytes as they were read; a multi-byte character may be
	// split between two calls.
	Output(stream Stream, text []byte)
	Figure(figure Figure)
	Artifact(artifact Artifact)
	// Clear takes back what was shown so far.
	Clear(cleared Cleared)
	// Ask takes a question that the code waits with. It must not wait.
	Ask(question Question)
	// Tool answers a request of code's to other MCP servers. Many may wait at once, until
	// their ctx ends. An error that is for the code is a *ToolRefusal.
	Tool(ctx context.Context, request ToolRequest) (*ToolAnswer, error)
}

// The words for what code prints and shows are those of package output.
type (
	// Stream is where a piece of output came from: Stdout or Stderr.
	Stream = output.Stream
	// Piece is output of one stream.
	Piece = output.Piece
	// Printed is the whole of a stream.
	Printed = output.Printed
	// Figure is one matplotlib figure that an execution showed.
	Figure = output.Figure
	// Artifact is a file that an execution has kept for its reader.
	Artifact = output.Artifact
	// Cleared says which figures and artifacts are not shown any more.
	Cleared = output.Cleared
	// Range says which lines of a text to read.
	Range = output.Range
	// Page is a part of a text.
	Page = output.Page
)

// The two streams of a process.
const (
	Stdout = output.Stdout
	Stderr = output.Stderr
)

// Question is what the code asks a person with input().
type Question struct {
	Prompt string
	// Reply answers it, once; it does nothing when the code waits no more.
	Reply func(Reply)
}

// Reply is the answer to a question, or in a clause why there is none.
type Reply struct {
	Text    string
	Refusal string
	Unasked bool // nobody was asked: the question stands
}

// Outcome is what the worker reports of one finished execution, before the
// session adds what only it knows (output, limits, restarts).
type Outcome struct {
	// OK is false when the code ended with an exception, and for a command whose
	// exit code is not 0.
	OK bool
	// Signalled is true when a SIGINT reached the code while it ran.
	Signalled bool
	// ExecTime is how long the code ran, as the worker measured it.
	ExecTime time.Duration

	Result         json.RawMessage // nil when no variable was asked for
	ResultType     string
	ResultEncoding string // "json" or "repr"
	// Notes are plain sentences for the reader, as "x is not defined" or
	// "NaN at [3] became null".
	Notes []string
	// ExitCode is a command's, as shells count: 128 and the signal's number when
	// one ended it. It is nil for code, and for a command that was interrupted.
	ExitCode *int

	Exception *Exception
	Variables VariableDiff
	// Metric is what the request's MetricVarName came to; nil if it named none.
	Metric *Metric

	// Obstacle says in a clause why the worker can't be copied in the state
	// that the execution left, "" when it can.
	Obstacle string
	// Tasks is how many tasks, or servers and timers where there are none, go on in
	// the event loop.
	Tasks int
	// Python is what the code became where it was written otherwise, as with magics, "" where
	// it ran as it was, and nil where that is too long to be told.
	// Refused says that it could not be compiled: nothing of it ran.
	Python  *string
	Refused bool
	// Size is how many bytes the worker has used to report all this.
	Size int
}

// Exception describes the Python exception that ended an execution.
type Exception struct {
	Type      string
	Info      ExceptionInfo
	Stack     []StackFrame
	Traceback string
}

// ExceptionInfo holds the parts of an exception that a program may want.
// Name, Msg and Obj are those attributes where the exception has them.
type ExceptionInfo struct {
	Args []json.RawMessage `json:"args"`
	Name string            `json:"name,omitempty"`
	Msg  string            `json:"msg,omitempty"`
	Obj  string            `json:"obj,omitempty"`
}

// StackFrame is one frame of the user's code; on the wire it is the array
// [file, line, function, text].
type StackFrame struct {
	File     string
	Line     int
	Function string
	Text     string
}

// MarshalJSON writes the frame as [file, line, function, text].
func (f StackFrame) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{f.File, f.Line, f.Function, f.Text})
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (f *StackFrame) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&f.File, &f.Line, &f.Function, &f.Text})
}

// VariableDiff names what an execution did to the session's variables.
type VariableDiff struct {
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// NotCompared are some that the run's code names and that are too big, alone or together: told once of each.
	NotCompared []string `json:"not_compared,omitempty" jsonschema_description:"Names that the code uses of values too big, alone or together, for changes deep inside to be seen; told once of each"`
	// More is how many names are not in a list, by its name, where there are very many.
	More map[string]int `json:"more,omitempty" jsonschema_description:"How many more were added, changed or removed than are named"`
}

// Empty reports whether no variable was touched.
func (d VariableDiff) Empty() bool {
	return len(d.Added)+len(d.Changed)+len(d.Removed)+len(d.NotCompared) == 0
}

// Namespace is what the session's code has defined, private names left out.
type Namespace struct {
	// Variables are the data: arrays and tables first, then what holds other
	// values, the largest first in both, then plain values by name.
	Variables []Variable `json:"variables"`
	// LeftOut is how many more there are.
	LeftOut int `json:"left_out"`
	// Functions are those that the code defined, as they are called.
	Functions []string `json:"functions,omitempty"`
	Classes   []string `json:"classes,omitempty"`
	// Imports are names of modules, as "np (numpy)", and of what came from them.
	Imports []string `json:"imports,omitempty"`
}

// Variable describes one variable without running code of its class.
type Variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape,omitempty"`
	// Length is the number of elements of a builtin container.
	Length *int `json:"length,omitempty"`
	// Size is in bytes: of an array its elements, of a table its columns and
	// index, of anything else the value itself; what is referred to is not counted.
	Size int64 `json:"size,omitempty"`
	// Repr has at most 500 characters; "" where there was no time to make it.
	Repr string `json:"repr"`
}

// CrashError says that a worker died while it should have answered.
type CrashError struct {
	// Reason is a human sentence: signal or exit code, and the Python line.
	Reason string
	// ExitCode is the process's exit code, or -1 when a signal ended it.
	ExitCode int
	// Signal is the signal's name, as in "SIGSEGV", or "".
	Signal string
	// Trace is what faulthandler wrote, if anything.
	Trace string
}

func (e *CrashError) Error() string { return e.Reason }

// Verifier checks code before anything of it runs.
type Verifier interface {
	// Verify returns what may run, or an *Error with CodeRefused that names every
	// violation with its line, or ErrSyntax. A plugin is verified by its name, an
	// uploaded module as code.
	Verify(ctx context.Context, client Client, kind Kind, code string) (Judged, error)
}

// Judged is code that a Verifier let pass.
type Judged struct {
	// Source is the Python that was judged: the code, or what it means in IPython's
	// dialect. It runs as it is. "" says that no rules hold and nothing was judged.
	Source string
	// Notes are sentences on what of the code was repaired.
	Notes []string
}

// Client names who calls.
type Client string
