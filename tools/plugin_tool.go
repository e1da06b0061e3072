package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
)

// PluginTool is a plugin of the operator's, or a tool of another MCP server's, as a tool.
type PluginTool struct {
	Name string
	// Runs is what is called, as mcptools.github.search_issues; "" is the plugin of that Name.
	Runs        string
	Title       string // for people; the name when it is empty
	Description string
	// Schema is that of its arguments, as schemas.Extend takes it.
	Schema json.RawMessage
	// What its author says of it; nil is the cautious assumption.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
	// Broken says why it can't be called, "" when it can. It is not listed then.
	Broken string
}

// PluginArgs are the arguments that each plugin's tool has beside its own, unless
// the plugin has one of that name.
type PluginArgs struct {
	InterpreterID string   `json:"interpreter_id,omitempty" jsonschema_description:"Which interpreter runs the plugin. Leave out for your default one, which is made on the first call."`
	Timeout       *float64 `json:"timeout,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"Seconds the plugin may run. At the limit it is interrupted."`
	Wait          *float64 `json:"wait,omitempty" unit:"seconds" jsonschema:"minimum=0" jsonschema_description:"Seconds to wait before answering 'running' while the plugin runs on."`
}

// pluginCatalog is the tools of a server that runs plugins only.
func (b *toolbox) pluginCatalog() []server.ServerTool {
	all := []server.ServerTool{b.manageInterpretersTool(), b.refusing(runPythonCodeName, noCodeButPlugins+b.nextPlugin())}
	for _, p := range b.plugins() {
		if slices.ContainsFunc(all, func(t server.ServerTool) bool { return t.Tool.Name == p.Name }) {
			b.Logger.Error("a plugin is no tool: there is one of that name", "plugin", p.Name)
			continue
		}
		all = append(all, b.pluginTool(p))
		b.met[p.Name] = true
	}
	for name := range b.met { // who knows it from before is told what there is
		if !slices.ContainsFunc(all, func(t server.ServerTool) bool { return t.Tool.Name == name }) {
			all = append(all, b.refusing(name, fmt.Sprintf("there is no plugin %s any more; nothing was run. %s", name, b.nextPlugin())))
		}
	}
	slices.SortStableFunc(all, func(a, b server.ServerTool) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	return all
}

func (b *toolbox) pluginTool(p PluginTool) server.ServerTool {
	extend := schemas.Extend[PluginArgs]
	if p.Runs != "" {
		extend = schemas.ExtendForeign[PluginArgs]
	}
	arguments, err := extend(p.Name, p.Schema, pluginArgs)
	if err != nil && p.Broken == "" {
		b.Logger.Error("plugin has no usable schema", "plugin", p.Name, "error", err)
		p.Broken = err.Error()
	}
	if p.Broken != "" {
		return b.refusing(p.Name, fmt.Sprintf("plugin %s is broken: %s; nothing was run. Tell the user to ask the operator", p.Name, p.Broken))
	}
	// It runs a plugin as run_python_code runs code.
	tool := b.tool(p.Name, "", p.Description, arguments.Schema(), func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw, err := rawArguments(request)
		if err != nil {
			return nil, err
		}
		own, args, err := arguments.Decode(raw)
		if err != nil {
			return nil, err
		}
		return b.execute(ctx, request, sessions.RunRequest{
			Kind: sessions.RunsPlugin, Code: cmp.Or(p.Runs, p.Name), Arguments: own,
			InterpreterID: args.InterpreterID, Timeout: seconds(args.Timeout), Wait: seconds(args.Wait),
		})
	})
	tool.Tool.Annotations = p.annotations()
	return tool
}

// annotations are what its author says, and the cautious assumption for the rest.
func (p PluginTool) annotations() mcp.ToolAnnotation {
	a := annotations(cmp.Or(p.Title, p.Name))
	a.ReadOnlyHint = cmp.Or(p.ReadOnly, a.ReadOnlyHint)
	a.DestructiveHint = cmp.Or(p.Destructive, a.DestructiveHint)
	a.IdempotentHint = cmp.Or(p.Idempotent, a.IdempotentHint)
	a.OpenWorldHint = cmp.Or(p.OpenWorld, a.OpenWorldHint)
	if p.Destructive == nil && *a.ReadOnlyHint { // what changes nothing destroys nothing
		a.DestructiveHint = new(bool)
	}
	return a
}
