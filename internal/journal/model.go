package journal

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"time"

	"understudy/sessions"
)

// Run is what one server did from its start to its end.
type Run struct {
	ID      string // 10 capital letters and digits
	Started time.Time
	Ended   time.Time // zero while it goes on, and when it was killed
	Alive   bool      // its server is there
	PID     int
	Version string
	Config  string // the settings as YAML, without secrets
	Python  string // version, "" before the first start
	Steps   int    // how many trials an experiment is to have; 0 without --trials
	// Task is what experiments are to solve, Name what they are called; "" where nobody
	// said. Search is zero without --trials.
	Task, Name string
	Search     sessions.Search
	// Workspace is the directory of --data, RunDir that below which experiments
	// have their files; "" without.
	Workspace, RunDir string

	Executions, Trials int
}

// FilesOf is the directory below dir, as RunDir, that the files of an experiment are
// written to; "" names what a run without trials executed. The time in it is UTC, so
// that it is the same wherever it is asked for.
func (r Run) FilesOf(dir, experiment string) string {
	return filepath.Join(dir, r.Started.UTC().Format("20060102-150405")+"-"+cmp.Or(experiment, r.ID))
}

// Interpreter is one interpreter of a run.
type Interpreter struct {
	ID      string
	Run     string
	Client  string
	Workdir string
	Parent  string            // the one that it was branched from, or ""
	Origin  sessions.StateRef // where it was branched
	Present sessions.StateRef // its state: the last execution that counts
	Created time.Time
	Ended   time.Time // zero while it lives, and when its server was killed
}

// StatusLost is the status of an execution whose server was killed while it ran.
const StatusLost sessions.Status = "lost"

// Execution is one execution as the journal has it.
type Execution struct {
	ID       int64 // in the journal; they grow
	Revision int64 // grows with each change of any execution
	Run      string
	Place    sessions.StateRef
	Client   string
	Kind     sessions.Kind
	Code     string // with session variables' values masked, as all texts here
	// Arguments are a plugin's, a JSON object.
	Arguments json.RawMessage
	Started   time.Time
	Limit     time.Duration
	Parent    int64 // the execution whose state this one began with; 0 for none
	Follows   int64 // the one whose outcome the agent had before it; 0 for none
	Trial     *Trial

	Status   sessions.Status // StatusRunning, StatusLost, or as it ended
	ExecTime time.Duration
	Memory   uint64 // bytes
	// Changed says that it has added, changed or removed variables.
	Changed bool
	// ToolCalls counts the calls of other servers' tools that are in the journal, by server;
	// nil where there are none.
	ToolCalls map[string]int

	// Detail is nil where only heads were asked for, and while it runs.
	Detail *Detail
}

// Detail is the rest of an execution.
type Detail struct {
	// Record is the result as clients get it, but for Stdout, Stderr and TermOut.
	Record sessions.Result
	// TermOut is both streams in order of arrival, its middle left out where it is long.
	TermOut        []string
	Stdout, Stderr Output
	// Python is what the code became where it was written otherwise, as with magics, ""
	// where it ran as it was; nil where that was not told. Refused says that it
	// could not be compiled, and nothing of it ran.
	Python  *string `json:",omitempty"`
	Refused bool    `json:",omitempty"`

	Figures   []Figure
	Artifacts []Artifact

	// ToolUses are the calls of other servers' tools, in the order in which they ended.
	ToolUses []sessions.ToolUse `json:"-"` // they have a table
}

// Output is what was printed on one stream.
type Output struct {
	Text string // all of it if it is short, else head and tail around a marker
	Path string // the file with all of it; "" where Text is all
	Size int64  // bytes
	Lost int64  // bytes that were not kept
	// Pending said of earlier versions' outputs that their file was being made. Readers see
	// false: the file is there, or lost.
	Pending bool `json:",omitempty"`
}

// Figure is a figure with its file as the journal keeps it, "" if it doesn't.
type Figure struct {
	sessions.Figure
	File string
}

// Artifact is the same for an artifact.
type Artifact struct {
	sessions.Artifact
	File string
}

// Trial is what makes an execution a trial.
type Trial struct {
	Experiment string // the same for all trials of one
	Number     int    // in the experiment, from 1
	Plan       string
	Analysis   string // what earlier trials had shown
	Parent     int64  // the trial that it goes on from; 0 for a draft
	Stage      string
	Depth      int    // trials of stage debug in a row, this one the last
	MetricName string // "" if nothing was to be measured
	Maximize   bool
	Metric     *float64 // nil while it runs, and where there is none
	Buggy      bool
	Why        string // why it is buggy
}

// Heartbeat is what an interpreter does now, as its server last said.
type Heartbeat struct {
	Run           string
	At            time.Time
	InterpreterID string
	Client        string
	Memory        uint64 // bytes
	Waiting       int
	Execution     int // 0 while nothing runs; the rest is zero then
	Code          string
	Started       time.Time
	Limit         time.Duration
	Tail          string // the end of its output
	// ToolCalls counts its calls of other servers' tools so far, by server.
	ToolCalls map[string]int
}

// Query chooses executions. What is left zero does not restrict.
type Query struct {
	ID          int64 // that one only
	Run         string
	Interpreter string
	Experiment  string
	Trials      bool  // trials only
	Since       int64 // those with a greater Revision only
	Limit       int   // the newest of them
	Detail      bool  // with Detail
}
