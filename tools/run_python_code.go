package tools

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
)

const runPythonCodeName = "run_python_code"

//go:embed run_python_code.md
var runPythonCodeText string

// RunPythonCodeArgs are the arguments of run_python_code.
type RunPythonCodeArgs struct {
	Code          string   `json:"code" jsonschema_description:"Python source, a notebook's cell."`
	InterpreterID string   `json:"interpreter_id,omitempty" jsonschema_description:"Which interpreter. Without: your default one."`
	ResultVarName string   `json:"result_var_name,omitempty" jsonschema_description:"A variable whose value to return as JSON."`
	Timeout       *float64 `json:"timeout,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"Seconds the code may run; then it is interrupted, and variables are kept."`
	Wait          *float64 `json:"wait,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"Seconds to wait before answering 'running'."`
	Reset         bool     `json:"reset,omitempty" jsonschema_description:"Drop all earlier variables first."`
}

func (b *toolbox) runPythonCodeTool() server.ServerTool {
	text := b.describe(runPythonCodeText)
	if b.PluginSummary != nil {
		text = sections(text, b.PluginSummary())
	}
	schema := b.runArgs.Schema()
	if b.Trials {
		schema = b.trialArgs.Schema()
	}
	tool := mcp.NewToolWithRawSchema(runPythonCodeName, text, schema)
	tool.Meta = b.toolMeta()
	tool.Annotations = annotations("Run Python code")
	return server.ServerTool{Tool: tool, Handler: b.runPythonCode}
}

func (b *toolbox) runPythonCode(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, trial, err := b.runArguments(request)
	if err == nil {
		err = checkVariable("result_var_name", "result", args.ResultVarName)
	}
	if err != nil {
		return b.failure(runPythonCodeName, err), nil
	}
	return b.execute(ctx, request, runPythonCodeName, sessions.RunRequest{
		Code: args.Code, InterpreterID: args.InterpreterID, ResultVarName: args.ResultVarName,
		Timeout: seconds(args.Timeout), Wait: seconds(args.Wait), Reset: args.Reset, Trial: trial,
	}), nil
}

// execute runs what a tool asks for, or goes on with the run whose question the
// call answers, and renders how it stands.
func (b *toolbox) execute(ctx context.Context, request mcp.CallToolRequest, tool string, r sessions.RunRequest) *mcp.CallToolResult {
	at, again, err := resumed(request)
	if err != nil {
		return b.failure(tool, err)
	}
	client := b.Client(ctx)
	r.Wait = b.patience(ctx, request, r.Wait)
	progress := b.progress(ctx, request)
	result, err := b.run(ctx, request, client, r, trip{at, again, progress})
	progress.end(ctx)
	noteRun(ctx, "run", r.InterpreterID, result)
	if err != nil {
		return b.failure(tool, err)
	}
	if question := b.returned(result, at.Round); question != nil {
		return question
	}
	return b.answer(ctx, request, result, askedBy(client, r, result))
}

// askedBy is what the answer to a run must know of its call.
func askedBy(client sessions.Client, r sessions.RunRequest, result *sessions.Result) asked {
	call := asked{variable: r.ResultVarName, named: r.InterpreterID != "", code: r.Code}
	call.again = client != sessions.Anonymous
	call.newID = client.Keyed() && !call.named && (result.Execution == 1 || !call.again)
	return call
}

// trip is what the handlers know of a call beside its arguments: which question
// it answers, if it is not a new one, and who hears of its progress.
type trip struct {
	at       round
	again    bool
	progress *progress
}

// run runs what is asked for, or goes on with the run whose question the call
// answers.
func (b *toolbox) run(ctx context.Context, request mcp.CallToolRequest, client sessions.Client, r sessions.RunRequest, c trip) (*sessions.Result, error) {
	r.Progress, r.Asking = c.progress.listener(), b.asking(ctx, request, c.at.Round)
	if c.again {
		return b.resume(ctx, request, client, c.at, sessions.WaitRequest{Wait: r.Wait, Progress: r.Progress, Asking: r.Asking})
	}
	return b.manager.Run(ctx, client, r)
}

// seconds turns an argument into a Duration, 0 when it is absent or 0: a model that
// must fill in every argument writes 0 for those it has no wish about. What no
// Duration can hold becomes the longest, which the Manager refuses by its limit.
func seconds(s *float64) time.Duration {
	switch {
	case s == nil || *s == 0:
		return 0
	case *s >= math.MaxInt64/float64(time.Second):
		return math.MaxInt64
	default:
		return max(time.Duration(*s*float64(time.Second)), 1)
	}
}

// identifier is a Python name, but for rare compatibility characters.
var identifier = regexp.MustCompile(`^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*$`)

// keywords are Python's reserved words; soft ones like match are good names.
var keywords = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
	"def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in",
	"is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
}

// checkVariable refuses a name that can't be a variable's. The argument is the one
// that has it, and usual is what such a variable is often called.
func checkVariable(argument, usual, name string) error {
	if name == "" || identifier.MatchString(name) && !slices.Contains(keywords, name) {
		return nil
	}
	return &schemas.ArgumentError{Argument: argument, Message: fmt.Sprintf(
		"argument %q must be the name of one variable, not %q; assign the expression to a variable at the end of code, as in %s = …, and give that name", argument, clip(name, 60), usual)}
}
