package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"golang.org/x/text/unicode/norm"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
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
		text = answer.Sections(text, b.PluginSummary())
	}
	if b.ServerSummary != nil {
		text = answer.Sections(text, b.ServerSummary())
	}
	schema := runArgs.Schema()
	if b.Trials {
		schema = trialArgs.Schema()
	}
	return b.tool(runPythonCodeName, "Run Python code", text, schema, b.runPythonCode)
}

func (b *toolbox) runPythonCode(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, trial, err := b.runArguments(request)
	if err == nil {
		err = checkVariable("result_var_name", "result", args.ResultVarName)
	}
	if err != nil {
		return nil, err
	}
	return b.execute(ctx, request, sessions.RunRequest{
		Code: args.Code, InterpreterID: args.InterpreterID, ResultVarName: args.ResultVarName,
		Timeout: seconds(args.Timeout), Wait: seconds(args.Wait), Reset: args.Reset, Trial: trial,
	})
}

// execute runs what a tool asks for, or goes on with the run whose question the
// call answers, and renders how it stands.
func (b *toolbox) execute(ctx context.Context, request mcp.CallToolRequest, r sessions.RunRequest) (*mcp.CallToolResult, error) {
	client := b.Client(ctx)
	asked := sessions.WaitRequest{InterpreterID: r.InterpreterID, Wait: r.Wait}
	return b.follow(ctx, request, "run", asked, func(w sessions.WaitRequest) (*sessions.Result, error) {
		r.Wait, r.Progress, r.Asking = w.Wait, w.Progress, w.Asking
		return b.manager.Run(ctx, client, r)
	}, func(result *sessions.Result) answer.Call { return callOf(client, r, result) })
}

// follow begins to wait for an execution, or goes on with the one whose question the call
// answers, and renders how it stands. It completes the request by who hears of progress and
// of questions.
func (b *toolbox) follow(ctx context.Context, request mcp.CallToolRequest, operation string, r sessions.WaitRequest,
	begin func(sessions.WaitRequest) (*sessions.Result, error), asked func(*sessions.Result) answer.Call,
) (*mcp.CallToolResult, error) {
	at, again, err := resumed(request)
	if err != nil {
		return nil, err
	}
	progress := b.progress(ctx, request)
	r.Wait = b.patience(ctx, request, r.Wait)
	r.Progress, r.Asking = progress.listener(), b.asking(ctx, request, at.Round)
	if again {
		begin = func(r sessions.WaitRequest) (*sessions.Result, error) { return b.resume(ctx, request, at, r) }
	}
	result, err := begin(r)
	progress.end(ctx)
	call := note(ctx, operation, r.InterpreterID)
	if err != nil {
		return nil, err
	}
	call.InterpreterID, call.Execution, call.Outcome = result.InterpreterID, result.Execution, string(result.Status)
	if question := b.returned(result, at.Round); question != nil {
		return question, nil
	}
	return b.answers.Answer(ctx, request, result, asked(result)), nil
}

// callOf is what the answer to a run must know of its call.
func callOf(client sessions.Client, r sessions.RunRequest, result *sessions.Result) answer.Call {
	call := answer.Call{Variable: r.ResultVarName, Named: r.InterpreterID != "", Code: r.Code}
	call.Again = client != sessions.Anonymous
	call.NewID = client.Keyed() && !call.Named && (result.Execution == 1 || !call.Again)
	return call
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

// checkVariable refuses a name that can't be a variable's. The argument is the one
// that has it, and usual is what such a variable is often called.
func checkVariable(argument, usual, name string) error {
	if name == "" || identifier.MatchString(name) && !schemas.IsKeyword(name) {
		return nil
	}
	return &schemas.ArgumentError{Argument: argument, Message: fmt.Sprintf(
		"argument %q must be the name of one variable, not %q; assign the expression to a variable at the end of code, as in %s = …, and give that name", argument, answer.Clip(name, 60), usual)}
}

const longestPlan = 10_000 // characters

// RunTrialArgs are the arguments of run_python_code where runs can be trials of an
// experiment.
type RunTrialArgs struct {
	RunPythonCodeArgs

	Plan          string `json:"plan,omitempty" jsonschema_description:"Makes the run a trial: what it tries and why, in a few sentences."`
	Analysis      string `json:"analysis,omitempty" jsonschema_description:"What earlier trials have shown that leads to this one."`
	MetricVarName string `json:"metric_var_name,omitempty" jsonschema_description:"Makes the run a trial measured by this variable, a finite number that this very code assigns."`
	Maximize      *bool  `json:"maximize,omitempty" jsonschema_description:"Required with metric_var_name: true if more of it is better, false if less."`
}

// forTrials are the arguments that only trials have.
var forTrials = []string{"plan", "analysis", "metric_var_name", "maximize"}

// runArguments reads the arguments of a call: what to run, and what makes it a trial,
// nil if nothing does.
func (b *toolbox) runArguments(request mcp.CallToolRequest) (RunPythonCodeArgs, *sessions.Trial, error) {
	if !b.Trials {
		args, err := decode(runArgs, request)
		return args, nil, withoutTrials(err)
	}
	args, err := decode(trialArgs, request)
	if err != nil {
		return args.RunPythonCodeArgs, nil, err
	}
	trial, err := args.trial()
	return args.RunPythonCodeArgs, trial, err
}

// withoutTrials has an error say why an argument of trials is unknown.
func withoutTrials(err error) error {
	var unknown *schemas.ArgumentError
	if errors.As(err, &unknown) && slices.Contains(forTrials, unknown.Argument) {
		return &schemas.ArgumentError{Argument: unknown.Argument, Message: fmt.Sprintf(
			"argument %q needs a server started with --trials; leave it out, nothing was run", unknown.Argument)}
	}
	return err
}

// trial returns what makes the run a trial, nil if nothing does.
func (a RunTrialArgs) trial() (*sessions.Trial, error) {
	plan, analysis := strings.TrimSpace(a.Plan), strings.TrimSpace(a.Analysis)
	for name, text := range map[string]string{"plan": plan, "analysis": analysis} {
		if n := utf8.RuneCountInString(text); n > longestPlan {
			return nil, &schemas.ArgumentError{Argument: name, Message: fmt.Sprintf(
				"argument %q may have %s characters, not %s; a few sentences say what the trial tries and why", name, humanize.Comma(longestPlan), humanize.Comma(int64(n)))}
		}
	}
	switch {
	case a.MetricVarName == "" && a.Maximize != nil && *a.Maximize: // false is what a model fills in
		return nil, &schemas.ArgumentError{Argument: "maximize", Message: `argument "maximize" is about a metric: name its variable in metric_var_name, or leave maximize out`}
	case a.MetricVarName != "" && a.Maximize == nil:
		return nil, &schemas.ArgumentError{Argument: "maximize", Message: fmt.Sprintf(
			"argument \"maximize\" is required with metric_var_name: true if more of %s is better (accuracy), false if less is (an error, a loss)", answer.Clip(a.MetricVarName, 60))}
	case a.MetricVarName == "" && plan == "" && analysis != "":
		return nil, &schemas.ArgumentError{Argument: "analysis", Message: `argument "analysis" belongs to a trial: say in plan what this one tries, or leave analysis out`}
	case a.MetricVarName == "" && plan == "":
		return nil, nil
	}
	if err := checkVariable("metric_var_name", "score", a.MetricVarName); err != nil {
		return nil, err
	}
	// Python stores names in their normal form.
	return &sessions.Trial{Plan: plan, Analysis: analysis, MetricVarName: norm.NFKC.String(a.MetricVarName), Maximize: a.Maximize != nil && *a.Maximize}, nil
}

// aboutTrials is what run_python_code's description says of them.
const aboutTrials = "In an experiment, give each attempt a plan and a metric_var_name: it is then a trial, and the answer says what it goes on from, whether it is buggy, its metric, and which is the best so far."
