package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

// The values of Options.Mode: what agents may run.
const (
	ModeFull       = "full"        // Python code
	ModePluginOnly = "plugin-only" // the operator's plugins, each a tool
	ModeCLIOnly    = "cli-only"    // one shell command a call
)

//go:embed instructions_plugin_only.md
var instructionsPluginOnly string

// Instructions is the text with which a server of this mode introduces itself to
// a model.
func (o Options) Instructions() string {
	switch {
	case o.Mode == ModePluginOnly:
	case o.PluginSummary != nil:
		return Instructions() + " " + pluginInstructions
	default:
		return Instructions()
	}
	text := strings.TrimSpace(instructionsPluginOnly)
	if len(o.usable()) == 0 {
		text += " There is no plugin that can be called now: tell the user that the operator must provide one (--plugins)."
	}
	return text
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
	if o.Mode != ModePluginOnly {
		return text
	}
	return strings.ReplaceAll(text, runPythonCodeName, "a plugin's tool")
}

// hiddenKey marks a tool, in its Meta, that is in no list and refuses each call.
const hiddenKey = "understudy.hidden"

// refusing is a tool that is not listed: who calls it, from memory or habit, is
// told why, and what there is.
func (b *toolbox) refusing(name, why string) server.ServerTool {
	tool := mcp.NewTool(name, mcp.WithDescription(why))
	tool.Meta = mcp.NewMetaFromMap(map[string]any{hiddenKey: true})
	return server.ServerTool{Tool: tool, Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return b.failure(name, sessions.Errorf(sessions.CodeRefused, "%s", why)), nil
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

// noCode says that code can't be run, and what can.
func (b *toolbox) noCode() string {
	names := b.usable()
	if len(names) == 0 {
		return "this server runs plugins only, no code, and there is no plugin that can be called; nothing was run. Tell the user that the operator must provide one"
	}
	return fmt.Sprintf("this server runs plugins only, no code; nothing was run. Call one of %s", someNames(names))
}
