package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// answerTime is how long any answer may take. The longest calls of the soak run
// into a short time limit and a grace after it.
const answerTime = time.Minute

// The tools.
const (
	runTool    = "run_python_code"
	manageTool = "manage_interpreters"
)

// arguments of a tool.
type arguments map[string]any

// answer is what a tool said.
type answer struct {
	text    string
	refused bool // isError
	images  int
	record  record
	took    time.Duration
}

// record is what the soak reads of the records of both tools.
type record struct {
	InterpreterID string          `json:"interpreter_id,omitzero"`
	Execution     int             `json:"execution,omitzero"`
	Status        string          `json:"status,omitzero"`
	Success       bool            `json:"success,omitzero"`
	Result        json.RawMessage `json:"result,omitzero"`
	Notes         []string        `json:"notes,omitzero"`

	Stdout          string `json:"stdout,omitzero"`
	Stderr          string `json:"stderr,omitzero"`
	StdoutTruncated int    `json:"stdout_truncated,omitzero"`
	OutputPath      string `json:"output_path,omitzero"`

	ExcType string   `json:"exc_type,omitzero"`
	Figures []shown  `json:"figures,omitzero"`
	Changes *changes `json:"variables,omitzero"`

	InterpreterRestarted bool   `json:"interpreter_restarted,omitzero"`
	RestartReason        string `json:"restart_reason,omitzero"`
	RestartedBeforeRun   bool   `json:"restarted_before_run,omitzero"`
	StateRestored        *bool  `json:"state_restored,omitzero"`
	StateBefore          int    `json:"state_before,omitzero"`
	Recoverable          *bool  `json:"recoverable,omitzero"`

	Interpreter  *listing  `json:"interpreter,omitzero"`
	Interpreters []listing `json:"interpreters,omitzero"`
	Interruption *struct {
		Stopped   bool `json:"stopped,omitzero"`
		StateKept bool `json:"state_kept,omitzero"`
	} `json:"interruption,omitzero"`
}

type shown struct {
	Path string `json:"path,omitzero"`
}

type changes struct {
	Added   []string `json:"added,omitzero"`
	Changed []string `json:"changed,omitzero"`
	Removed []string `json:"removed,omitzero"`
}

// listing is one interpreter in a list.
type listing struct {
	ID          string `json:"id,omitzero"`
	Status      string `json:"status,omitzero"`
	Default     bool   `json:"default,omitzero"`
	Executions  int    `json:"executions,omitzero"`
	PID         int    `json:"pid,omitzero"`
	Workdir     string `json:"workdir,omitzero"`
	Parent      string `json:"parent,omitzero"`
	Recoverable bool   `json:"recoverable,omitzero"`
}

// call makes one tool call.
func (s *server) call(ctx context.Context, tool string, args arguments) (answer, error) {
	return callWith(ctx, s.client, tool, args)
}

func callWith(ctx context.Context, c *client.Client, tool string, args arguments) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer in %s", answerTime))
	defer cancel()
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, map[string]any(args)
	began := time.Now()
	result, err := c.CallTool(ctx, request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = errors.Join(cause, err)
		}
		return answer{}, err
	}
	a := answer{refused: result.IsError, took: time.Since(began)}
	var texts []string
	for _, content := range result.Content {
		switch c := content.(type) {
		case mcp.TextContent:
			texts = append(texts, c.Text)
		case mcp.ImageContent:
			a.images++
		}
	}
	a.text = strings.Join(texts, "\n")
	return a, a.record.read(result.StructuredContent)
}

// read takes the structured content of an answer, which refusals don't have.
func (r *record) read(structured any) error {
	if structured == nil {
		return nil
	}
	raw, err := json.Marshal(structured)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, r)
}

// merge puts the output of an earlier answer about the same execution before
// this one's.
func (r *record) merge(earlier record) {
	r.Stdout, r.Stderr = earlier.Stdout+r.Stdout, earlier.Stderr+r.Stderr
	r.Figures = append(earlier.Figures, r.Figures...)
}
