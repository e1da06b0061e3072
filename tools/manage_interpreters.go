package tools

import (
	"context"
	_ "embed"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

const manageInterpretersName = "manage_interpreters"

var (
	//go:embed manage_interpreters.md
	manageInterpretersText string
	//go:embed manage_interpreters_cli.md
	manageInterpretersCLIText string
)

// ManageInterpretersArgs are the arguments of manage_interpreters. Not every server has
// all of them: see operations, and manageArguments.
type ManageInterpretersArgs struct {
	Operation     string   `json:"operation" jsonschema_description:"What to do."`
	Packages      []string `json:"packages,omitempty" jsonschema_description:"For install, as pip takes them: polars>=1, ./file.whl."`
	InterpreterID string   `json:"interpreter_id,omitempty" jsonschema_description:"Which interpreter. For create: a name for it."`
	Python        string   `json:"python,omitempty" jsonschema_description:"For create: which Python."`
	Wait          *float64 `json:"wait,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"For wait: seconds to wait before answering 'running' again."`
	Text          *string  `json:"text,omitempty" jsonschema_description:"For answer: the line to type; more lines are for what is asked next."`
	Match         string   `json:"match,omitempty" jsonschema_description:"For variables: only those whose name or type contains this; * and ? match as in file names."`
	Path          string   `json:"path,omitempty" jsonschema_description:"For upload: where to put the file, relative to the working directory."`
	Content       *string  `json:"content,omitempty" jsonschema_description:"For upload: the file as text."`
	ContentBase64 *string  `json:"content_base64,omitempty" jsonschema_description:"For upload, instead: the file as base64."`

	Variables schemas.Texts `json:"variables,omitempty" jsonschema_description:"For set_variables; one without value is removed."`
}

// operation is one thing that manage_interpreters does; doc.go says what else one has. One that
// is of use to commands has its line in manage_interpreters_cli.md, too.
type operation struct {
	name   string
	args   []string // of ManageInterpretersArgs, those that it alone has
	handle func(*toolbox, context.Context, operationCall) (*mcp.CallToolResult, error)
	// offered says whether a server has it, and told whether its description says so; nil:
	// always.
	offered, told func(Options) bool
}

// operationCall is a call of manage_interpreters.
type operationCall struct {
	ManageInterpretersArgs
	request mcp.CallToolRequest
	client  sessions.Client
}

// operations is the only list of them, in the order in which the schema has them.
var operations = []operation{
	{name: "create", handle: replying((*toolbox).create)},
	{name: "list", handle: replying((*toolbox).list)},
	{name: "delete", handle: replying((*toolbox).delete)},
	{name: "restart", handle: replying((*toolbox).restart)},
	{name: "interrupt", handle: replying((*toolbox).interrupt)},
	{name: "wait", handle: (*toolbox).wait},
	{name: "answer", args: []string{"text"}, handle: (*toolbox).wait, offered: Options.runsCode},
	{name: "branch", handle: replying((*toolbox).branch)},
	// It would end what commands have left in the background.
	{name: "undo", handle: replying((*toolbox).undo), offered: Options.runsCode},
	{name: "variables", args: []string{"match"}, handle: replying((*toolbox).variables), offered: Options.runsCode},
	{name: "set_variables", args: []string{"variables"}, handle: replying((*toolbox).setVariables), offered: Options.runsCode, told: Options.hasPlugins},
	{name: "upload", args: []string{"path", "content", "content_base64"}, handle: replying((*toolbox).upload)},
	{name: "install", args: []string{"packages"}, handle: (*toolbox).install, offered: Options.installs},
}

func (o Options) runsCode() bool { return o.Mode != ModeCLIOnly }

func (o Options) hasPlugins() bool { return o.PluginSummary != nil || o.PluginTools != nil }

func (op operation) isOffered(o Options) bool { return op.offered == nil || op.offered(o) }

// isTold reports whether the description has the operation.
func (op operation) isTold(o Options) bool { return op.isOffered(o) && (op.told == nil || op.told(o)) }

// manageArguments are those of manage_interpreters on a server with these options.
func manageArguments(o Options) *schemas.Arguments[ManageInterpretersArgs] {
	var options []schemas.Option
	var choices []string
	for _, op := range operations {
		if op.isOffered(o) {
			choices = append(choices, op.name)
		} else {
			options = append(options, schemas.Without(op.args...))
		}
	}
	python := schemas.Without("python")
	if len(o.Pythons) > 0 {
		python = schemas.Choices("python", o.Pythons...)
	}
	return arguments[ManageInterpretersArgs](manageInterpretersName, append(options, python, schemas.Choices("operation", choices...))...)
}

func (b *toolbox) manageInterpretersTool() server.ServerTool {
	text, title := manageInterpretersText, "Manage Python interpreters"
	if b.Mode == ModeCLIOnly {
		text, title = manageInterpretersCLIText, "Manage interpreters"
	}
	return b.tool(manageInterpretersName, title, b.describe(text), b.manArgs.Schema(), b.manageInterpreters)
}

// manageInterpreters does what was asked for, with the client's own interpreters.
func (b *toolbox) manageInterpreters(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := decode(b.manArgs, request)
	if err != nil {
		return nil, b.explainOperation(err)
	}
	i := slices.IndexFunc(operations, func(o operation) bool { return o.name == args.Operation }) // the schema has no other
	return operations[i].handle(b, ctx, operationCall{args, request, b.Client(ctx)})
}

// reply is what an operation answers: a text for the model, and a record for
// programs.
type reply struct {
	text   string
	record map[string]any
}

// replying is the handler of an operation whose answer is a reply.
func replying(do func(*toolbox, context.Context, operationCall) (reply, error)) func(*toolbox, context.Context, operationCall) (*mcp.CallToolResult, error) {
	return func(b *toolbox, ctx context.Context, c operationCall) (*mcp.CallToolResult, error) {
		r, err := do(b, ctx, c)
		call := note(ctx, c.Operation, c.InterpreterID)
		if err != nil {
			return nil, err
		}
		if id, ok := r.record["interpreter_id"].(string); ok {
			call.InterpreterID = id
		}
		return b.answers.Reply(ctx, c.request, b.inMode(r.text), r.record), nil
	}
}

// explainOperation gives a wrong operation the message that agents know.
func (b *toolbox) explainOperation(err error) error {
	var wrong *schemas.ArgumentError
	if !errors.As(err, &wrong) {
		return err
	}
	if !b.installs() && (wrong.Choice == "install" || wrong.Argument == "packages") {
		return b.noInstall()
	}
	if wrong.Argument != "operation" || wrong.Choice == "" {
		return err
	}
	if slices.ContainsFunc(operations, func(o operation) bool { return o.name == wrong.Choice }) {
		return sessions.Errorf(sessions.CodeInvalid, "%s is for code, and this server runs shell commands only (--mode cli-only); nothing was changed. Files are all that commands keep: change them back by %s", wrong.Choice, runShellCommandName)
	}
	return sessions.Errorf(sessions.CodeInvalid, "Unknown operation: %s (%s)", answer.Clip(wrong.Choice, 60), wrong.Message)
}
