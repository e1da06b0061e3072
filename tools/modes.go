package tools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
	"understudy/tools/answer"
)

// The values of Options.Mode: what agents may run.
const (
	ModeFull       = "full"        // Python code
	ModePluginOnly = "plugin-only" // the operator's plugins, each a tool
	ModeCLIOnly    = "cli-only"    // one shell command a call
)

var (
	//go:embed instructions.md
	instructions string
	//go:embed instructions_plugin_only.md
	instructionsPluginOnly string
	//go:embed instructions_cli.md
	instructionsCLIOnly string
)

// pluginInstructions follow where there are plugins. Which, is in the description
// of run_python_code: a client reads that again when they change.
const pluginInstructions = " Code can also call plugins, functions of this server; run_python_code lists them."

// serverInstructions follow where there are other servers.
const serverInstructions = " It can call tools of other MCP servers too, which run_python_code lists."

// noPlugin follows where there are none and nothing else can be called.
const noPlugin = " There is no plugin that can be called now: tell the user that the operator must provide one (--plugins)."

// Instructions is the text with which a server of this mode introduces itself to
// a model.
func (o Options) Instructions() string {
	own := strings.TrimSpace(instructions)
	switch {
	case o.Mode == ModeCLIOnly:
		own = strings.TrimSpace(instructionsCLIOnly)
	case o.Mode == ModePluginOnly:
		own = strings.TrimSpace(instructionsPluginOnly) + word(len(o.usable()) == 0 && o.ServerProblems == nil, noPlugin, "")
	default:
		own += word(o.PluginSummary != nil, pluginInstructions, "") + word(o.ServerSummary != nil, serverInstructions, "")
	}
	return strings.TrimSpace(own + "\n\n" + strings.TrimSpace(o.OperatorsWords))
}

// plugins are those that there are now.
func (o Options) plugins() []PluginTool {
	if o.PluginTools == nil {
		return nil
	}
	return o.PluginTools()
}

// usable are the names of the plugins that can be called.
func (o Options) usable() []string {
	var names []string
	for _, p := range o.plugins() {
		if p.Broken == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// inMode has a text name what runs things in this mode: package sessions and the
// descriptions speak of run_python_code.
func (o Options) inMode(text string) string {
	switch o.Mode {
	case ModePluginOnly:
		return strings.ReplaceAll(text, runPythonCodeName, "a plugin's tool")
	case ModeCLIOnly:
		return ofCommands.Replace(text)
	}
	return text
}

// ofCommands has texts that speak of code speak of commands.
var ofCommands = strings.NewReplacer(
	runPythonCodeName, runShellCommandName,
	"It has no variables now.", "Nothing runs there now; its files stay.",
	"with its variables", "with a copy of its files",
	"; its variables are gone", "; what ran there has ended",
	"; its variables are kept", "",
)

// hiddenKey marks a tool, in its Meta, that is in no list and refuses each call.
const hiddenKey = "understudy.hidden"

// refusing is a tool that is not listed: who calls it, from memory or habit, is
// told why, and what there is.
func (b *toolbox) refusing(name, why string) server.ServerTool {
	tool := mcp.NewTool(name, mcp.WithDescription(why))
	tool.Meta = mcp.NewMetaFromMap(map[string]any{hiddenKey: true})
	return server.ServerTool{Tool: tool, Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, sessions.Errorf(sessions.CodeRefused, "%s", why)
	}}
}

// leaveOutHidden takes the tools that only refuse out of a list.
func leaveOutHidden(_ context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	shown := make([]mcp.Tool, 0, len(result.Tools))
	for _, tool := range result.Tools {
		if tool.Meta == nil || tool.Meta.AdditionalFields[hiddenKey] == nil {
			shown = append(shown, tool)
		}
	}
	result.Tools = shown
}

// Why code can't be run where there are commands, or plugins.
const (
	noCodeButCommands = "this server runs shell commands only (--mode cli-only), no code; nothing was run. Call " + runShellCommandName
	noCodeButPlugins  = "this server runs plugins only, no code; nothing was run. "
)

// nextPlugin says what to do instead of what there is not.
func (b *toolbox) nextPlugin() string {
	if names := b.usable(); len(names) > 0 {
		return "Call one of " + answer.SomeNames(names, 0)
	}
	return "Tell the user that the operator must provide one: there is no plugin that can be called"
}
