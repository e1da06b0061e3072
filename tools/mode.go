package tools

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The values of Options.Mode.
const (
	ModeFull       = "full"        // Python code
	ModePluginOnly = "plugin-only" // each plugin is a tool, and there is no code
	ModeCLIOnly    = "cli-only"    // one shell command a call, and no code
)

//go:embed instructions.md
var instructions string

//go:embed instructions_cli.md
var cliInstructions string

// Instructions is the text with which the server introduces itself to a model.
func Instructions(mode string) string {
	if mode == ModeCLIOnly {
		return strings.TrimSpace(cliInstructions)
	}
	return strings.TrimSpace(instructions)
}

// catalog is the only list of the tools.
func (b *toolbox) catalog() []server.ServerTool {
	if b.Mode == ModeCLIOnly {
		return []server.ServerTool{b.runShellCommandTool(), b.manageInterpretersTool()}
	}
	return []server.ServerTool{b.runPythonCodeTool(), b.manageInterpretersTool()}
}

// missing names the tools that agents know of and this mode doesn't have, and
// says what to do in their place.
func (b *toolbox) missing() map[string]string {
	if b.Mode == ModeCLIOnly {
		return map[string]string{runPythonCodeName: "this server runs shell commands only (--mode cli-only); call run_shell_command"}
	}
	return nil
}

// inMode puts the tool of this mode in the place of run_python_code in a
// sentence of ours that says what to call.
func (b *toolbox) inMode(text string) string {
	if b.Mode == ModeCLIOnly {
		return strings.ReplaceAll(text, runPythonCodeName, runShellCommandName)
	}
	return text
}

// addMissing has calls of missing tools refused with the next step. They are in
// no list.
func (b *toolbox) addMissing(s *server.MCPServer) {
	missing := b.missing()
	if len(missing) == 0 {
		return
	}
	for name, instead := range missing {
		s.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return refusal(name + " is not available: " + instead), nil
		})
	}
	if s.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(s)
	}
	s.GetHooks().AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, listed *mcp.ListToolsResult) {
		listed.Tools = slices.DeleteFunc(listed.Tools, func(tool mcp.Tool) bool { return missing[tool.Name] != "" })
	})
}
