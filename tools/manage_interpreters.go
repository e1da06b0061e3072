package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
)

const manageInterpretersName = "manage_interpreters"

var (
	//go:embed manage_interpreters.md
	manageInterpretersText string
	//go:embed manage_interpreters_cli.md
	manageInterpretersCLIText string
)

// ManageInterpretersArgs are the arguments of manage_interpreters. Not every server has
// all of them; see manageOptions.
type ManageInterpretersArgs struct {
	Operation     string   `json:"operation" jsonschema:"enum=create,enum=list,enum=delete,enum=restart,enum=interrupt,enum=wait,enum=answer,enum=branch,enum=undo,enum=variables,enum=set_variables,enum=upload,enum=install" jsonschema_description:"What to do."`
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

var (
	// usualOperations are those that code has use for, without install.
	usualOperations = []string{"create", "list", "delete", "restart", "interrupt", "wait", "answer", "branch", "undo", "variables", "set_variables", "upload"}
	// ofCode are those of them that a server of commands doesn't have: they are about
	// what code has done, and undo would end what commands have left in the background.
	ofCode = []string{"answer", "undo", "variables", "set_variables"}
)

// manageOptions are how the arguments of manage_interpreters differ from what
// ManageInterpretersArgs says.
func (b *toolbox) manageOptions() []schemas.Option {
	var options []schemas.Option
	choices := usualOperations
	if b.installs() {
		choices = append(slices.Clone(choices), "install")
	} else {
		options = append(options, schemas.Without("packages"))
	}
	if b.Mode == ModeCLIOnly {
		choices = slices.DeleteFunc(slices.Clone(choices), func(o string) bool { return slices.Contains(ofCode, o) })
		options = append(options, schemas.Without("text", "match", "variables"))
	}
	if len(b.Pythons) > 0 {
		options = append(options, schemas.Choices("python", b.Pythons...))
	} else {
		options = append(options, schemas.Hidden("python"))
	}
	return append(options, schemas.Choices("operation", choices...))
}

func (b *toolbox) manageInterpretersTool() server.ServerTool {
	text, title := manageInterpretersText, "Manage Python interpreters"
	if b.Mode == ModeCLIOnly {
		text, title = manageInterpretersCLIText, "Manage interpreters"
	}
	tool := mcp.NewToolWithRawSchema(manageInterpretersName, b.describe(text), b.manArgs.Schema())
	tool.Meta = b.toolMeta()
	tool.Annotations = annotations(title)
	return server.ServerTool{Tool: tool, Handler: b.manageInterpreters}
}

func (b *toolbox) manageInterpreters(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := decode(b.manArgs, request)
	if err == nil && args.Operation == "delete" && args.InterpreterID == "" {
		err = sessions.Errorf(sessions.CodeInvalid, "interpreter_id is required for delete operation")
	}
	if err != nil {
		return b.failure(manageInterpretersName, b.explainOperation(err)), nil
	}

	if args.Operation == "install" {
		return b.install(ctx, request, args), nil
	}
	result, err := b.operate(ctx, request, args)
	if err != nil {
		return b.failure(manageInterpretersName, err), nil
	}
	return result, nil
}

// operate does what was asked for, by the client's own interpreters.
func (b *toolbox) operate(ctx context.Context, request mcp.CallToolRequest, args ManageInterpretersArgs) (*mcp.CallToolResult, error) {
	client, id := b.Client(ctx), args.InterpreterID
	switch args.Operation {
	case "wait", "answer":
		return b.wait(ctx, request, client, args)
	case "create":
		made, err := b.manager.Create(ctx, client, sessions.CreateRequest{InterpreterID: id, Python: args.Python})
		return b.say(ctx, request, created(made), err)
	case "list":
		all, farewell, err := b.list(ctx, client, id)
		return b.say(ctx, request, listed(all, farewell, b.fit(ctx, request).Text), err)
	case "delete":
		err := b.manager.Delete(ctx, client, id)
		return b.say(ctx, request, b.deleted(id), err)
	case "restart":
		fresh, err := b.manager.Restart(ctx, client, id)
		return b.say(ctx, request, restarted(fresh), err)
	case "interrupt":
		stopped, err := b.manager.Interrupt(ctx, client, id)
		return b.say(ctx, request, interrupted(stopped), err)
	case "branch":
		made, err := b.manager.Branch(ctx, client, id)
		return b.say(ctx, request, branched(made), err)
	case "undo":
		undone, err := b.manager.Undo(ctx, client, id)
		return b.say(ctx, request, undid(undone), err)
	case "variables":
		match, err := newMatch(args.Match)
		if err != nil {
			return nil, err
		}
		names, notes, err := b.manager.Variables(ctx, client, id)
		return b.say(ctx, request, described(match.of(names), notes, b.fit(ctx, request).Text), err)
	case "set_variables":
		r, err := b.setVariables(ctx, client, args)
		return b.say(ctx, request, r, err)
	case "upload":
		r, err := b.upload(ctx, client, args)
		return b.say(ctx, request, r, err)
	default: // the schema's list and this one differ, which TestEveryOperation would find
		return nil, fmt.Errorf("operation %q is advertised but not handled", args.Operation)
	}
}

// list returns the client's interpreters, and a sentence when it has no default
// one. A caller who can have none of its own sees the one that it names.
func (b *toolbox) list(ctx context.Context, client sessions.Client, id string) (all []sessions.Listing, farewell string, err error) {
	switch {
	case client != sessions.Anonymous:
		all, err = b.manager.List(ctx, client)
		return all, b.manager.Farewell(client), err
	case id == "":
		return nil, "this connection has none of its own; pass the interpreter_id that an earlier answer named to see that one", nil
	default:
		one, err := b.manager.Show(ctx, client, id)
		return []sessions.Listing{one}, "", err
	}
}

// wait goes on waiting for an execution, which it may give what it asks for; its
// answer looks like run_python_code's.
func (b *toolbox) wait(ctx context.Context, request mcp.CallToolRequest, client sessions.Client, args ManageInterpretersArgs) (*mcp.CallToolResult, error) {
	at, again, err := resumed(request)
	if err != nil {
		return nil, err
	}
	lines, err := typed(args)
	if err != nil {
		return nil, err
	}
	progress := b.progress(ctx, request)
	r := sessions.WaitRequest{
		InterpreterID: args.InterpreterID, Lines: lines, Wait: b.patience(ctx, request, seconds(args.Wait)),
		Progress: progress.listener(), Asking: b.asking(ctx, request, at.Round),
	}
	var result *sessions.Result
	if again {
		result, err = b.resume(ctx, request, client, at, r)
	} else {
		result, err = b.manager.Await(ctx, client, r)
	}
	progress.end(ctx)
	noteRun(ctx, "wait", args.InterpreterID, result)
	if err != nil {
		return nil, err
	}
	if question := b.returned(result, at.Round); question != nil {
		return question, nil
	}
	return b.answer(ctx, request, result, asked{named: args.InterpreterID != "", answers: len(lines) > 0}), nil
}

// typed are the lines that operation answer passes on, none for another.
func typed(args ManageInterpretersArgs) ([]string, error) {
	switch {
	case args.Operation != "answer":
		return nil, nil
	case args.Text == nil:
		return nil, &schemas.ArgumentError{Argument: "text", Message: `operation answer needs "text", the line that the code asks for: "" for an empty one, "\u0004" (Ctrl-D) for the end of input`}
	}
	lines := strings.Split(strings.TrimSuffix(*args.Text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines, nil
}

// reply is what an operation answers: a text for the model, and a record for
// programs.
type reply struct {
	text   string
	record map[string]any
}

// say answers with a reply, or with the error that kept it from being true.
func (b *toolbox) say(ctx context.Context, request mcp.CallToolRequest, r reply, err error) (*mcp.CallToolResult, error) {
	call := note(ctx, request.GetString("operation", ""), request.GetString("interpreter_id", ""))
	if err != nil {
		return nil, err
	}
	if id, ok := r.record["interpreter_id"].(string); ok {
		call.InterpreterID = id
	}
	if i, ok := r.record["interruption"].(*sessions.Interruption); ok {
		call.Execution = i.Execution
	}
	f := b.fit(ctx, request)
	result := mcp.NewToolResultText(cutBytes(b.inMode(r.text), f.Text, f.Bytes/2))
	if f.Record && travelling(r.record) <= f.Bytes/2-envelope {
		r.record["success"] = true
		result.StructuredContent = r.record
	}
	return result, nil
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
	if b.Mode == ModeCLIOnly && slices.Contains(ofCode, wrong.Choice) {
		return sessions.Errorf(sessions.CodeInvalid, "%s is for code, and this server runs shell commands only (--mode cli-only); nothing was changed. Files are all that commands keep: change them back by %s", wrong.Choice, runShellCommandName)
	}
	return sessions.Errorf(sessions.CodeInvalid, "Unknown operation: %s (%s)", clip(wrong.Choice, 60), wrong.Message)
}
