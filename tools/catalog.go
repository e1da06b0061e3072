package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

// Options are the operator's choices about what agents see. What is left zero
// takes the default that is named with it.
type Options struct {
	// Client names the caller of a request; nil means that all are one client.
	Client func(context.Context) sessions.Client
	// Answers say what answers hold; what they share with these Options is filled in.
	Answers answer.Options
	// DefaultWait and DefaultTimeout are told in the descriptions; 45 seconds
	// and 1 hour, and a DefaultTimeout below 0 is no limit. The Manager applies its own.
	DefaultWait, DefaultTimeout time.Duration
	// History is told in the description of undo: how many runs it can go back.
	// Zero is none.
	History int
	// MaxUpload is how many bytes a file may have that an agent puts into a
	// working directory; 10,000,000.
	MaxUpload int
	// Observe is told of each call of a tool; nil: nobody is.
	Observe func(context.Context, Call)
	// AsksConsent says that whom a client asks for us may agree to calls of other servers'
	// tools: over stdio, or where it is known who that is.
	AsksConsent bool
	// Mode is one of the constants Mode…; ModeFull.
	Mode string
	// Rules are told in the descriptions; nil is for a server that checks nothing.
	Rules *Rules
	// SharedFiles says that all interpreters work in one directory, which outlives them;
	// FilesEnd that each has its own, which goes with it.
	SharedFiles, FilesEnd bool
	// Walls are told in the descriptions; nil is for a server without a sandbox.
	Walls *Walls
	// OperatorsWords come after the server's own instructions.
	OperatorsWords string
	// PluginSummary tells a model, in some lines, which plugins code can call now,
	// and PluginTools returns, for ModePluginOnly, those that there are; nil is for a
	// server that has none, and never will. They must not call refresh.
	PluginSummary func() string
	PluginTools   func() []PluginTool
	// ServerSummary tells a model, in some lines, of other MCP servers whose tools code can
	// call now, and ServerProblems has a line for each that can't be reached; nil is for a
	// server that has none, and never will. They must not call refresh.
	ServerSummary  func() string
	ServerProblems func() []string
	// Preview returns a text in Markdown on the data in input/ of the working
	// directory. Nil is for a server without data.
	Preview func(context.Context) (string, error)
	// PreviewReady waits for a while until the data is there, for those who read the
	// preview; nil: it is.
	PreviewReady func(context.Context)
	// Pythons are what the argument python of create may be, none where all interpreters
	// have the same Python.
	Pythons []string
	// Install lets agents install packages for an interpreter; nil: they may not.
	Install *InstallOptions
	// Trials lets runs be trials of an experiment, of which Steps are planned; 20.
	// RunDir is where the files of experiments are, for the prompts.
	Trials bool
	Steps  int
	RunDir string
	// Task is what experiments are to solve, "" if the user says it; Search is how; by
	// default 5 drafts, and up to 3 debugs in a row of whatever is buggy.
	Task   string
	Search sessions.Search
	// Report tells the facts of the caller's experiment, for the prompt that writes
	// them up; nil has the model go by what it remembers.
	Report func(context.Context, sessions.Client) (string, error)
	Logger *slog.Logger
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.Client == nil {
		o.Client = func(context.Context) sessions.Client { return "client" }
	}
	o.Mode = cmp.Or(o.Mode, ModeFull)
	o.Steps = cmp.Or(o.Steps, 20)
	o.Search = cmp.Or(o.Search, sessions.Search{Drafts: 5, DebugDepth: 3, DebugProb: 1})
	o.MaxUpload = cmp.Or(o.MaxUpload, 10_000_000)
	o.DefaultWait = cmp.Or(o.DefaultWait, 45*time.Second)
	o.DefaultTimeout = cmp.Or(o.DefaultTimeout, time.Hour)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// toolbox is what the handlers share.
type toolbox struct {
	Options
	manager    Manager
	server     *server.MCPServer
	manArgs    *schemas.Arguments[ManageInterpretersArgs]
	answers    *answer.Renderer
	beginnings beginnings

	mu    sync.Mutex
	met   map[string]bool // plugins that have been tools
	shown []byte          // the tools as JSON
}

// What tools take that is the same on every server.
var (
	runArgs    = arguments[RunPythonCodeArgs](runPythonCodeName)
	shellArgs  = arguments[RunShellCommandArgs](runShellCommandName)
	trialArgs  = arguments[RunTrialArgs](runPythonCodeName)
	pluginArgs = arguments[PluginArgs]("a plugin")
)

func newToolbox(s *server.MCPServer, m Manager, o Options) *toolbox {
	b := &toolbox{Options: o.withDefaults(), manager: m, server: s, met: map[string]bool{}}
	a := b.Answers
	a.Client, a.Trials, a.Search, a.Logger = b.Client, b.Trials, b.Search, b.Logger
	b.answers = answer.New(a)
	b.manArgs = manageArguments(b.Options)
	return b
}

// arguments describes a tool's arguments. It fails on a mistake in the struct's
// tags only, which TestEveryTool would find.
func arguments[T any](tool string, options ...schemas.Option) *schemas.Arguments[T] {
	a, err := schemas.For[T](tool, options...)
	if err != nil {
		panic(err)
	}
	return a
}

// catalog is the only list of the tools.
func (b *toolbox) catalog() []server.ServerTool {
	switch b.Mode {
	case ModePluginOnly:
		return b.pluginCatalog()
	case ModeCLIOnly:
		return []server.ServerTool{b.runShellCommandTool(), b.manageInterpretersTool(), b.refusing(runPythonCodeName, noCodeButCommands)}
	}
	return []server.ServerTool{b.runPythonCodeTool(), b.manageInterpretersTool()}
}

// Register adds the tools and the prompts to the server. Refresh puts up the tools
// anew where Options tell something else now, and clients hear of that.
func Register(s *server.MCPServer, m Manager, o Options) (refresh func()) {
	b := newToolbox(s, m, o)
	b.refresh()
	hooksOf(s).AddAfterListTools(b.noteList)
	if b.Mode == ModeFull {
		b.addPrompts(s) // which teach to run code
		return b.refresh
	}
	hooksOf(s).AddAfterListTools(leaveOutHidden)
	if b.Mode == ModePluginOnly && len(b.usable()) == 0 && b.ServerProblems == nil { // whose tools may be there later
		b.Logger.Warn("there is no plugin that can be called: agents find no tool but manage_interpreters")
	}
	return b.refresh
}

// refresh puts up the server's tools, if they are not as before.
func (b *toolbox) refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	tools := b.catalog()
	shown := make([]mcp.Tool, len(tools))
	for i := range tools {
		tools[i].Handler = b.guard(tools[i].Tool.Name, tools[i].Handler)
		shown[i] = tools[i].Tool
	}
	now, err := json.Marshal(shown)
	if err != nil { // a schema that is no JSON, which a test would find
		b.Logger.Error("the tools can't be shown", "error", err)
		return
	}
	if !bytes.Equal(now, b.shown) {
		b.shown = now
		b.server.SetTools(tools...)
	}
}

// hooksOf returns the server's hooks, which it has from now on.
func hooksOf(s *server.MCPServer) *server.Hooks {
	if s.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(s)
	}
	return s.GetHooks()
}

// Schemas returns the contract with clients: the input schema of every tool,
// by the tool's name, and the schema of "execution_record". What
// manage_interpreters takes in ModeCLIOnly is "manage_interpreters_cli", with
// Options.Install "manage_interpreters_install", and what run_python_code takes with
// Options.Trials is "run_python_code_trials".
func Schemas() (map[string]json.RawMessage, error) {
	record, err := schemas.Reflect(sessions.Result{}, sessions.StackFrame{})
	if err != nil {
		return nil, err
	}
	return map[string]json.RawMessage{
		"execution_record":                  record,
		runPythonCodeName:                   runArgs.Schema(),
		runPythonCodeName + "_trials":       trialArgs.Schema(),
		runShellCommandName:                 shellArgs.Schema(),
		manageInterpretersName:              manageArguments(Options{}).Schema(),
		manageInterpretersName + "_cli":     manageArguments(Options{Mode: ModeCLIOnly}).Schema(),
		manageInterpretersName + "_install": manageArguments(Options{Install: &InstallOptions{}}).Schema(),
	}, nil
}

// annotations say what a client may want to ask its user about: Python code
// can change files and reach the network.
func annotations(title string) mcp.ToolAnnotation {
	yes, no := true, false
	return mcp.ToolAnnotation{Title: title, ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no, OpenWorldHint: &yes}
}

// tool is a tool of ours that may do anything.
func (b *toolbox) tool(name, title, text string, schema json.RawMessage, handle server.ToolHandlerFunc) server.ServerTool {
	tool := mcp.NewToolWithRawSchema(name, text, schema)
	tool.Meta = b.answers.ToolMeta()
	tool.Annotations = annotations(title)
	return server.ServerTool{Tool: tool, Handler: handle}
}

// rawArguments returns the arguments of a call as they came, so that numbers
// and repeated names are seen as the client wrote them.
func rawArguments(request mcp.CallToolRequest) (json.RawMessage, error) {
	if raw := request.Params.RawArguments; len(raw) > 0 {
		return raw, nil
	}
	return json.Marshal(request.Params.Arguments)
}

// decode reads the arguments of a call.
func decode[T any](a *schemas.Arguments[T], request mcp.CallToolRequest) (T, error) {
	raw, err := rawArguments(request)
	if err != nil {
		var none T
		return none, err
	}
	return a.Decode(raw)
}
