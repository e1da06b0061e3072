// Package wire is what the server and a Python process tell one another: frames on a
// socket, the messages in them, and the connection that they travel on. It starts and ends
// no process. What comes from a worker is a claim, for code of the user's may have sent it:
// everything is bounded, and what is broken is an Error that ends the worker, never the
// server.
//
// It is the twin of pyworker/protocol.py. A frame is a 4-byte big-endian length, a
// header of that many bytes (a JSON object), then the attachments whose sizes
// in bytes the header lists under "attachments". With a frame to Python, and with
// listener, may come descriptors, as many as its header says under "descriptors".
//
//	Go → worker   start       what the worker is for; answered by ready
//	              run         one execution; answered by figure*, artifact*, clear* and ask*, then done
//	              equip       plugins and session variables from now on; answered by equipped
//	              answer      to ask, while the code waits; one that comes late is ignored
//	              variables   answered by variables
//	              fork        copy yourself; a descriptor for the copy's frames;
//	                          answered by forked, and by ready from the copy
//	              rouse       to a copy: show that you work; answered by ready
//	              wake        to a copy: be a worker; answered by ready
//	              stop        run the exit handlers and exit; a closed socket means the same
//	worker → Go   listener    before ready: the socket for the server's proxy, from behind
//	                          the wall; a descriptor
//	              ready       the worker can run code, or the copy sleeps
//	              figure      a figure was shown; one attachment, the preview
//	              artifact    something was kept; one attachment, the preview, or none
//	              clear       figures and artifacts that were shown so far are not any more
//	              ask         the code waits for an answer of a person
//	              equipped    executions find what equip named
//	              done        the execution has ended
//	              variables   what the namespace holds
//	              forked      there is a copy, or why there is none
//	              log         for the server's log; may come at any time
//
//	Go → forker   spawn       fork a worker or a zygote; with its descriptors;
//	                          answered by spawned
//	              adopt       leave this child to reap
//	              reap        answered by reaped
//	forker → Go   ready       the root can fork
//	              preloaded   the zygote has imported what it could
//	              spawned, reaped, log
//
// But for answer, Go sends no second request before the first is answered. Output takes
// another way: two pipes.
//
// With the first equip comes a door where the server reaches other MCP servers: a datagram
// socket. Each request to them has a stream socket of its own, whose other end is sent
// through the door, so that threads and forked children need not agree on anything:
//
//	code → Go     tool_request  sessions.ToolRequest; the end of the socket cancels it
//	Go → code     tool_answer   with what came back, and its attachments
//	              tool_refused  or why there is nothing
package wire

import (
	"encoding/json"

	"understudy/internal/sandbox"
	"understudy/sessions"
)

// What both halves agree on.
const (
	// Version is compared in the handshake; both halves are shipped
	// in one binary, so another version means a foreign library directory.
	Version = 5

	// MaxHeader is how many bytes the header of one frame to Python may have.
	MaxHeader      = 64 << 20
	maxReport      = 4 << 20  // bytes of one header from Python: the user's code may have made it
	maxMention     = 32 << 10 // bytes of one of which an execution may send many
	maxAttachments = 64       // attachments of one frame
	maxAttached    = 16 << 20 // bytes of all attachments of one frame

	// ExitProtocol is the exit code of a worker that read a broken frame.
	ExitProtocol = 70
	// ExitNoMemory is that of one that had no memory left for its own work.
	ExitNoMemory = 72
)

// The types of frames.
const (
	TypeStart     = "start"
	TypeRun       = "run"
	TypeEquip     = "equip"
	TypeAnswer    = "answer"
	TypeVariables = "variables"
	TypeFork      = "fork"
	TypeRouse     = "rouse"
	TypeWake      = "wake"
	typeStop      = "stop"
	TypeSpawn     = "spawn"
	TypeAdopt     = "adopt"
	TypeReap      = "reap"
	TypeListener  = "listener"
	TypeReady     = "ready"
	TypeEquipped  = "equipped"
	TypeFigure    = "figure"
	TypeArtifact  = "artifact"
	TypeClear     = "clear"
	TypeAsk       = "ask"
	TypeDone      = "done"
	TypeForked    = "forked"
	TypeSpawned   = "spawned"
	TypePreloaded = "preloaded"
	TypeReaped    = "reaped"
	typeLog       = "log"

	TypeToolRequest = "tool_request"
	TypeToolAnswer  = "tool_answer"
	TypeToolRefused = "tool_refused"
)

var knownTypes = map[string]bool{
	TypeStart: true, TypeRun: true, TypeEquip: true, TypeAnswer: true, TypeVariables: true, TypeFork: true, TypeRouse: true, TypeWake: true, typeStop: true,
	TypeSpawn: true, TypeAdopt: true, TypeReap: true,
	TypeListener: true, TypeReady: true, TypeEquipped: true, TypeFigure: true, TypeArtifact: true, TypeClear: true, TypeAsk: true, TypeDone: true, TypeForked: true, typeLog: true,
	TypeSpawned: true, TypePreloaded: true, TypeReaped: true,
	TypeToolRequest: true, TypeToolAnswer: true, TypeToolRefused: true,
}

// mentions are the types of frames of which an execution may send many, and the server
// keeps them.
var mentions = map[string]bool{TypeFigure: true, TypeArtifact: true, TypeAsk: true, typeLog: true}

// Start makes a new process the worker of a session.
type Start struct {
	Protocol       int    `json:"protocol"`
	InterpreterID  string `json:"interpreter_id"`
	Workdir        string `json:"workdir"`
	PrivateDir     string `json:"private_dir"`
	FirstExecution int    `json:"first_execution"`
	Echo           string `json:"echo"`
	Traceback      string `json:"traceback"`
	Warnings       string `json:"warnings"`
	CodeFile       string `json:"code_file"`
	InitCode       string `json:"init_code"`
	FigureMaxSide  int    `json:"figure_max_side"` // pixels
	ResultLimit    int    `json:"result_limit"`    // bytes
	// Mark is for the environment, which children inherit; "" leaves the environment alone.
	Mark string `json:"mark"`
	// Tag is what the worker takes for one before anything else: it may be another
	// user's before the server has seen it.
	Tag uint64 `json:"tag"`
	// CheckpointLimit is how many bytes of memory of its own the worker may
	// have and still be copied; 0: it is never copied.
	CheckpointLimit int64 `json:"checkpoint_limit"`
	// Python says which one the worker runs, for advice to its reader.
	Python *Environment `json:"python,omitempty"`
	// Confine is the wall that the worker puts around itself; left out without one.
	Confine *sandbox.Profile `json:"confine,omitempty"`
	// Hosts are those that the wall lets code reach; left out where that is any.
	Hosts *[]string `json:"hosts,omitempty"`
}

// Environment is what is said of a Python and of installing packages into it.
type Environment struct {
	// Label follows the version where a reader would not expect this one, as "of this
	// project's .venv".
	Label string `json:"-"`
	// Introduction are the sentences of it that a session's first answer has.
	Introduction []string `json:"-"`

	// Name is what the environment is called in a sentence, as "this project's .venv".
	Name string `json:"name"`
	// SharedBy says who has what is installed there, as "all interpreters of this project".
	SharedBy string `json:"shared_by"`
	// UV says that uv manages the project that the environment is of.
	UV bool `json:"uv"`
	// Own is the directory of the environment that setup made; "" if this is that one, or
	// there is none.
	Own string `json:"own"`
	// NoPip and NoShell say that the policy refuses installs, or all commands, and Install
	// that agents may install packages for a session with manage_interpreters.
	NoPip   bool `json:"no_pip"`
	NoShell bool `json:"no_shell"`
	Install bool `json:"install"`
}

// A Fork comes with the copy's end of its frames' socket.
type Fork struct {
	Detached bool `json:"detached"` // not to be a child of the worker
}

// Forked says whether there is a copy.
type Forked struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

// A Wake comes with the descriptors of stdout, stderr and fault, when the copy is
// to be a worker of its own; with none it takes the place of its dead worker. The tag is
// a branch's, for where the server can't give it one; where users are not apart, code may
// not change one, and neither may the copy.
type Wake struct {
	InterpreterID string `json:"interpreter_id"`
	Workdir       string `json:"workdir"`
	PrivateDir    string `json:"private_dir"`
	Mark          string `json:"mark"`
	Tag           uint64 `json:"tag,omitempty"`
}

// A Spawn comes with the descriptors of the new process: a worker's
// stdout, stderr, frames and fault; a zygote's control.
type Spawn struct {
	Kind    string   `json:"kind"`
	Preload []string `json:"preload"`
	// Ahead is the part of a worker's wall that it puts into force before it is known
	// whose it is; left out where that is known, and without a wall.
	Ahead *sandbox.Base `json:"ahead,omitempty"`
}

// The kinds of processes that a forker forks.
const (
	KindWorker = "worker"
	KindZygote = "zygote"
)

// Spawned names the new process.
type Spawned struct {
	PID    int    `json:"pid"` // 0 if there is none
	Reason string `json:"reason"`
}

// Preloaded says what a zygote could import.
type Preloaded struct {
	PID      int         `json:"pid"`
	Imported []string    `json:"imported"`
	Failed   [][2]string `json:"failed"` // name and reason
}

// A Child is to be left to reap, or to be reaped.
type Child struct {
	PID int `json:"pid"`
}

// Reaped says how a child has ended.
type Reaped struct {
	PID    int `json:"pid"`
	Status int `json:"status"` // as of waitpid; -1 if it is no dead child
}

// Run is one execution.
type Run struct {
	Execution     int             `json:"execution"`
	Kind          sessions.Kind   `json:"kind"`
	Code          string          `json:"code"`
	Arguments     json.RawMessage `json:"arguments"`
	ResultVarName string          `json:"result_var_name"`
	// MetricVarName is left out where nothing is to be measured.
	MetricVarName string `json:"metric_var_name,omitempty"`
	// CompileOnly is left out unless it is true: whoever checked the code took it
	// for a syntax error, so that nothing of it may run.
	CompileOnly bool `json:"compile_only,omitempty"`
	// Judged is left out unless it is true: the code is what a policy has judged, and
	// runs as it is. Raw is the cell as it was written, left out where that is the
	// same, and Notes are sentences on what of it was repaired.
	Judged bool     `json:"judged,omitempty"`
	Raw    string   `json:"raw,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	// PackagesDir is left out where there is no place for packages.
	PackagesDir string `json:"packages_dir,omitempty"`
}

// NewRun is the message of a request. What was judged runs in the place of the
// code as it was written.
func NewRun(r sessions.Request) Run {
	m := Run{
		Execution: r.Execution, Kind: r.Kind, Code: r.Code, Arguments: r.Arguments,
		ResultVarName: r.ResultVarName, MetricVarName: r.MetricVarName,
		CompileOnly: r.CompileOnly, PackagesDir: r.PackagesDir,
	}
	if r.Judged.Source != "" {
		m.Code, m.Judged, m.Notes = r.Judged.Source, true, r.Judged.Notes
		if m.Code != r.Code {
			m.Raw = r.Code
		}
	}
	return m
}

// Equip is what executions find from now on.
type Equip struct {
	Plugins          []sessions.Plugin `json:"plugins"`
	SessionVariables map[string]string `json:"session_variables"`
}

// ToolAnswer is what a tool_request came to.
type ToolAnswer struct {
	Attachments []int           `json:"attachments,omitempty"` // their sizes in bytes
	Body        json.RawMessage `json:"body"`
}

// ToolRefused says why a tool_request came to nothing.
type ToolRefused struct {
	Kind    sessions.RefusalKind `json:"kind"`
	Message string               `json:"message"`
}

// Ask is what code wants to know of a person.
type Ask struct {
	Question int    `json:"question"` // its number, of this process
	Prompt   string `json:"prompt"`
}

// Answer is what the person has said.
type Answer struct {
	Question int    `json:"question"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"` // why there is no answer, "" if there is one
}

// Empty is the message of a frame that says all by its type.
type Empty struct{}

// A Listener comes with the socket that it is named for.
type Listener struct {
	Descriptors int `json:"descriptors"`
}

// Ready is what a process says of itself that can work.
type Ready struct {
	Protocol  int    `json:"protocol"`
	PID       int    `json:"pid"`
	Python    string `json:"python"`
	InitError string `json:"init_error"`
	// Notes are about what a woken copy had to leave behind.
	Notes []string `json:"notes"`
}

// A Figure was shown. Its URI is the server's to give.
type Figure struct {
	Execution int `json:"execution"`
	sessions.Figure
	// DisplayID is what a later figure has that takes the place of this one; left out
	// where nothing may.
	DisplayID string `json:"display_id,omitempty"`
	// Names are those of the files that the code has saved the figure in.
	Names []string `json:"names"`
}

// A Clear takes back what the execution has shown so far; the files stay.
type Clear struct {
	Execution int         `json:"execution"`
	Figures   bool        `json:"figures"`   // all of them
	Artifacts few[string] `json:"artifacts"` // by name
}

// An Artifact was kept. Its URI is the server's to give, too.
type Artifact struct {
	Execution int `json:"execution"`
	sessions.Artifact
}

// Done is the end of an execution.
type Done struct {
	Execution      int             `json:"execution"`
	OK             bool            `json:"ok"`
	Signalled      bool            `json:"signalled"`
	ExecTime       float64         `json:"exec_time"` // seconds
	Result         json.RawMessage `json:"result,omitempty"`
	ResultType     string          `json:"result_type,omitempty"`
	ResultEncoding string          `json:"result_encoding,omitempty"`
	Notes          few[string]     `json:"notes,omitempty"`
	ExitCode       *int            `json:"exit_code,omitempty"` // of a command that came to its end
	Exception      *Exception      `json:"exception,omitempty"`
	Variables      Changes         `json:"variables"`
	Obstacle       string          `json:"obstacle"`
	Tasks          int             `json:"tasks,omitempty"` // that go on in the event loop
	Metric         *Metric         `json:"metric,omitempty"`
	Python         *string         `json:"python,omitempty"`  // that code became which was none; nil if too long
	Refused        bool            `json:"refused,omitempty"` // it could not be compiled: nothing of it ran

	size int // bytes of the header
}

// Changes is a sessions.VariableDiff whose lists are short.
type Changes struct {
	Added       few[string]    `json:"added,omitempty"`
	Changed     few[string]    `json:"changed,omitempty"`
	Removed     few[string]    `json:"removed,omitempty"`
	NotCompared few[string]    `json:"not_compared,omitempty"`
	More        map[string]int `json:"more,omitempty"`
}

// Metric is a number that is finite, or why there is none.
type Metric struct {
	Value   *float64 `json:"value,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// An Exception is what code has raised and not caught.
type Exception struct {
	Type      string                   `json:"type"`
	Info      sessions.ExceptionInfo   `json:"info"`
	Stack     few[sessions.StackFrame] `json:"stack"`
	Traceback string                   `json:"traceback"`
}

// Variables is what the namespace holds.
type Variables struct{ sessions.Namespace }

// Log is for the log of the server.
type Log struct {
	Level   string `json:"level"`
	Message string `json:"message"`
}
