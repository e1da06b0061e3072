package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// Saved is the file journal.json.
type Saved struct {
	Run   SavedRun    `json:"run"`
	Nodes []SavedNode `json:"nodes"` // oldest first
	// NodeToParent has the ids of nodes that go on from another one, and those others'.
	NodeToParent map[string]string `json:"node2parent"`
	// Best is the id of the best node, null where nothing was measured.
	Best *string `json:"best"`
}

// SavedRun is the server's run in journal.json. Times are in RFC 3339.
type SavedRun struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Version string    `json:"version"`
	Python  string    `json:"python,omitempty"`
	Name    string    `json:"exp_name,omitempty"`
	Task    string    `json:"task_desc,omitempty"`
	Steps   int       `json:"steps,omitempty"`
	// Search is left out for a run without trials, and for one that nothing is known of.
	Search    sessions.Search `json:"search,omitzero"`
	Workspace string          `json:"workspace,omitempty"`
}

// SavedNode is a trial in journal.json, or an execution of a run without trials.
type SavedNode struct {
	ID            string                  `json:"id"`   // the interpreter's, "@", and the execution
	Step          int                     `json:"step"` // the trial's number, from 1
	InterpreterID string                  `json:"interpreter_id"`
	Execution     int                     `json:"execution"`
	Started       time.Time               `json:"started"`
	Code          string                  `json:"code"`
	Plan          string                  `json:"plan"`
	Analysis      string                  `json:"analysis,omitempty"`
	Stage         string                  `json:"stage,omitempty"` // draft, debug or improve
	DebugDepth    int                     `json:"debug_depth"`
	Parent        *string                 `json:"parent"` // id, null for a draft
	Status        sessions.Status         `json:"status"`
	IsBuggy       bool                    `json:"is_buggy"`
	Why           string                  `json:"why,omitempty"`
	Metric        *SavedMetric            `json:"metric"` // null if nothing was to be measured
	ExecTime      float64                 `json:"exec_time"`
	Memory        uint64                  `json:"memory,omitempty"` // bytes
	TermOut       []string                `json:"term_out"`         // long output without its middle, the traceback, the time
	ExcType       string                  `json:"exc_type,omitempty"`
	ExcInfo       *sessions.ExceptionInfo `json:"exc_info,omitempty"`
	ExcStack      []sessions.StackFrame   `json:"exc_stack,omitempty"`
	Traceback     string                  `json:"traceback,omitempty"`
	Figures       []string                `json:"figures,omitempty"` // files, from this one's directory
	Output        []string                `json:"output_files,omitempty"`
}

// SavedMetric is what a node measures; Value is null where it failed to.
type SavedMetric struct {
	Name     string   `json:"name"`
	Value    *float64 `json:"value"`
	Maximize bool     `json:"maximize"`
}

// journalJSON is the file journal.json.
func journalJSON(x *Experiment) ([]byte, error) {
	text, err := json.MarshalIndent(newSaved(x), "", " ")
	return append(escapeHidden(text), '\n'), err
}

func newSaved(x *Experiment) Saved {
	saved := Saved{
		Run: SavedRun{
			ID: x.Run.ID, Started: x.Run.Started.UTC(), Ended: x.Run.Ended, Version: x.Run.Version,
			Python: x.Run.Python, Name: x.Run.Name, Task: x.Run.Task, Steps: x.Run.Steps,
			Search: x.Run.Search, Workspace: x.Run.Workspace,
		},
		Nodes:        make([]SavedNode, len(x.Executions)),
		NodeToParent: map[string]string{},
	}
	if !saved.Run.Ended.IsZero() {
		saved.Run.Ended = saved.Run.Ended.UTC()
	}
	ids := make(map[int64]string, len(x.Executions))
	for i, e := range x.Executions {
		saved.Nodes[i] = savedNode(e)
		ids[e.ID] = saved.Nodes[i].ID
	}
	for i, e := range x.Executions {
		from := e.Parent // the execution whose state it began with
		if e.Trial != nil {
			from = e.Trial.Parent
		}
		if parent := ids[from]; parent != "" {
			saved.Nodes[i].Parent = &parent
			saved.NodeToParent[saved.Nodes[i].ID] = parent
		}
		if x.Best != nil && e.ID == x.Best.ID {
			saved.Best = &saved.Nodes[i].ID
		}
	}
	return saved
}

// escapeHidden escapes what JSON may have in its texts as it is, and terminals act on.
func escapeHidden(text []byte) []byte {
	if !bytes.ContainsFunc(text, isHidden) {
		return text
	}
	var escaped bytes.Buffer
	for _, char := range string(text) {
		if isHidden(char) {
			fmt.Fprintf(&escaped, `\u%04x`, char)
		} else {
			escaped.WriteRune(char)
		}
	}
	return escaped.Bytes()
}

// savedNode is one node, but for its parent.
func savedNode(e journal.Execution) SavedNode {
	node := SavedNode{
		ID:            fmt.Sprintf("%s@%d", e.Place.InterpreterID, e.Place.Execution), // for all time
		InterpreterID: e.Place.InterpreterID, Execution: e.Place.Execution,
		Started: e.Started.UTC(), Code: e.Code, Status: e.Status, ExecTime: e.ExecTime.Seconds(),
		Memory: e.Memory, TermOut: []string{},
	}
	if t := e.Trial; t != nil {
		node.Step, node.Plan, node.Analysis, node.Stage, node.DebugDepth = t.Number, t.Plan, t.Analysis, t.Stage, t.Depth
		node.IsBuggy, node.Why = t.Buggy, t.Why
		if t.MetricName != "" {
			node.Metric = &SavedMetric{Name: t.MetricName, Value: t.Metric, Maximize: t.Maximize}
		}
	}
	for _, i := range images(e) {
		if i.From != "" {
			node.Figures = append(node.Figures, i.Name)
		}
	}
	if d := e.Detail; d != nil {
		r := d.Record
		node.TermOut = termOut(e)
		node.ExcType, node.ExcInfo, node.ExcStack, node.Traceback = r.ExcType, r.ExcInfo, r.ExcStack, r.Traceback
		for _, output := range []journal.Output{d.Stdout, d.Stderr} {
			if output.Path != "" {
				node.Output = append(node.Output, output.Path)
			}
		}
	}
	return node
}

// termOut is what an execution's terminal would have shown, with how long it took where
// that is known.
func termOut(e journal.Execution) []string {
	r := e.Detail.Record
	r.Status, r.ExecTime, r.TimeLimit = e.Status, e.ExecTime.Seconds(), e.Limit.Seconds()
	lines := append([]string{}, r.Terminal(e.Detail.TermOut)...)
	if e.Status.Runs() || e.Status == journal.StatusLost {
		return lines
	}
	return append(lines, r.TimeLine())
}
