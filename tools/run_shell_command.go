package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
)

const runShellCommandName = "run_shell_command"

// longestCommand is how many bytes a command may have: Linux takes 128 KiB as
// one argument of a program.
const longestCommand = 100_000

//go:embed run_shell_command.md
var runShellCommandText string

// RunShellCommandArgs are the arguments of run_shell_command.
type RunShellCommandArgs struct {
	Command       string   `json:"command" jsonschema_description:"The command line, as in a script; several lines are fine."`
	InterpreterID string   `json:"interpreter_id,omitempty" jsonschema_description:"Which interpreter, so which working directory. Leave out for your default one, which is made on the first call."`
	Timeout       *float64 `json:"timeout,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"Seconds the command may run. At the limit it is interrupted, then killed."`
	Wait          *float64 `json:"wait,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"Seconds to wait before answering 'running' while the command runs on."`
}

func (b *toolbox) runShellCommandTool() server.ServerTool {
	return b.tool(runShellCommandName, "Run a shell command", b.describe(runShellCommandText), shellArgs.Schema(), b.runShellCommand)
}

func (b *toolbox) runShellCommand(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, err := decode(shellArgs, request)
	if err == nil {
		err = checkCommand(args.Command)
	}
	if err != nil {
		return nil, err
	}
	return b.execute(ctx, request, sessions.RunRequest{
		Kind: sessions.RunsCommand, Code: args.Command, InterpreterID: args.InterpreterID,
		Timeout: seconds(args.Timeout), Wait: seconds(args.Wait),
	})
}

// checkCommand refuses what can't be handed to a shell.
func checkCommand(command string) error {
	problem := ""
	switch {
	case strings.TrimSpace(command) == "":
		problem = "is empty; give it the command line to run"
	case strings.ContainsRune(command, 0):
		problem = "has a null character, which no command can hold; write it as an escape, as printf does"
	case len(command) > longestCommand:
		problem = fmt.Sprintf("has %d bytes, and a shell takes %d; put the script into a file with manage_interpreters, operation upload, and run that", len(command), longestCommand)
	default:
		return nil
	}
	return &schemas.ArgumentError{Argument: "command", Message: `argument "command" ` + problem}
}
