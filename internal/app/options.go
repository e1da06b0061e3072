package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
	"understudy/internal/connect"
	"understudy/internal/transport"
	"understudy/sessions"
	"understudy/tools"
	"understudy/tools/answer"
	"understudy/tools/resources"
	"understudy/tools/skill"
)

// managerOptions are the settings in the words of sessions, with what is kept where.
func (a *App) managerOptions() sessions.Options {
	o := sessionOptions(a.config, a.run.dir, a.log)
	o.RemakeRoot = a.run.remake
	if a.kept != nil {
		o.Dir, o.WorkdirRoot, o.KeepFiles = filepath.Join(a.kept.dir, outputsName), a.kept.dir, true
		o.RemakeRoot = a.kept.remake
		if a.project.unfit != "" {
			o.Locate = a.locate
		}
	}
	if a.config.Serve.OverNetwork() {
		o.Tenancy = a.tenancy
	}
	if a.plugins != nil {
		o.Equipper = a.plugins
	}
	if a.upstream != nil {
		o.Toolbox, o.MaxToolCalls = a.upstream, a.config.Serve.MCP.MCPMaxCalls
	}
	if a.workspace != nil {
		o.Workdir = a.workspace.plan.Dir()
	}
	if a.journal != nil {
		o.Recorder = a.journal.Journal
	}
	return o
}

// spoolLimit is how many bytes of each output stream of a run are kept on disk.
const spoolLimit = 1_000_000_000

// sessionOptions are the settings alone, for a run with a directory.
func sessionOptions(c *config.Config, run string, log *slog.Logger) sessions.Options {
	limits := limitsOf(c)
	o := sessions.Options{
		Logger:  log,
		Dir:     filepath.Join(run, "sessions"),
		Workdir: c.Serve.Workdir, WorkdirRoot: filepath.Join(run, "work"), KeepWorkdirs: c.Serve.KeepWorkdirs,
		Timeout: c.Serve.Timeout, MaxTimeout: c.Serve.MaxTimeout, Wait: c.Serve.Wait, Grace: c.Serve.Grace,
		MaxSessions: c.Serve.MaxSessions, Queue: 16, IdleTTL: c.Serve.IdleTTL,
		OutputLimit: int(c.Serve.OutputLimit), SpoolLimit: spoolLimit,
		// What the text budget cuts must be in a file; it is shared by two
		// streams, the result and the error.
		SpoolAfter:      answer.SmallestText(c.Serve.TextBudget) / 4,
		RerunAfterCrash: c.Serve.RerunAfterCrash,
		History:         c.Serve.History, CopyShare: c.Serve.CopyShare, CopyIdle: c.Serve.CopyIdle,
		MaxPerClient: c.Serve.MaxSessionsPerClient,
		EndOldest:    c.Serve.WhenFull == "end-oldest",
		MaxRetries:   c.Serve.MaxRetries, SessionVariables: c.Serve.SessionVariables,
		PrintLimit: limits.Output, MemoryLimit: limits.Memory, DiskLimit: limits.Disk,
		Conversation: func(ctx context.Context) string { return transport.CallerFrom(ctx).Conversation },
		AbandonedTTL: time.Hour, InterruptOnLeave: c.Serve.OnDisconnect == "interrupt",
	}
	o.Origin, o.HasEnded = transport.Origin, transport.HasEnded
	if c.Serve.DefaultInterpreter == "none" {
		o.NeedsHandle = func(client sessions.Client) bool { return !transport.IsPrincipal(string(client)) }
	}
	if o.KeepWorkdirs { // the run's own directory goes with the server
		o.WorkdirRoot = filepath.Join(c.DataDir, workdirsName)
	}
	return o
}

// newServer returns what speaks MCP, with the tools and the resources.
func (a *App) newServer() (*server.MCPServer, *resources.Server) {
	c, calls := a.config, a.newCalls()
	options := tools.Options{
		Client: clientOf,
		Answers: answer.Options{
			TextBudget: c.Serve.TextBudget, ImageMaxSide: c.Serve.ImageMaxSide, ImageBudget: int(c.Serve.ImageBudget),
			Figures: c.Serve.Figures, StructuredContent: c.Serve.StructuredContent,
		},
		DefaultWait: c.Serve.Wait, DefaultTimeout: c.Serve.Timeout, History: c.Serve.History, Logger: a.log,
		MaxUpload: int(c.Serve.MaxUpload), Mode: c.Serve.Mode, Observe: calls.tell,
		OperatorsWords: c.Serve.Instructions, Rules: a.rules, Walls: toldWalls(c), Install: installOptions(c),
		Pythons: offeredPythons(c), Trials: c.Serve.Trials, Steps: c.Serve.Steps, RunDir: ExperimentsDir(c),
		Task: c.Serve.Task, Search: searchOf(c),
	}
	if c.Serve.Timeout == config.LimitNone {
		options.DefaultTimeout = -1
	}
	if a.trials != nil {
		options.Report = a.trials.report
	}
	if a.workspace != nil {
		options.Preview = a.newPreviewer().Text
		options.PreviewReady = a.workspace.waitAWhile
	}
	shared := a.workspace != nil || c.Serve.Workdir != ""
	options.SharedFiles, options.FilesEnd = shared, !shared && !c.Serve.KeepWorkdirs
	if a.plugins != nil {
		options.PluginSummary, options.PluginTools = a.plugins.summary, a.plugins.tools
	}
	a.tellUpstream(&options)
	s := server.NewMCPServer("understudy", Version(), append(a.tracingOptions(),
		server.WithTitle("understudy"),
		server.WithInstructions(options.Instructions()),
		server.WithToolCapabilities(a.plugins != nil || a.upstream != nil), // they may change
		server.WithPromptCapabilities(false),
	)...)
	transport.TellCodes(s)
	if options.Mode == tools.ModeFull { // whose tools the skill teaches
		transport.AddMethods(s, skill.Methods)
		server.WithExtensions(map[string]any{skill.Extension: struct{}{}})(s)
	}
	refresh := tools.Register(s, a.manager, options)
	if a.plugins != nil {
		a.plugins.attach(s, refresh)
	}
	a.followUpstream(s, refresh)
	return s, resources.Register(s, a.manager, resources.Options{
		Client: clientOf, Preview: options.Preview, PreviewReady: options.PreviewReady, Read: calls.read, Logger: a.log,
	})
}

// toldWalls is what models hear of the sandbox, nil for none.
func toldWalls(c *config.Config) *tools.Walls {
	if c.Serve.SandboxMode() == config.SandboxOff {
		return nil
	}
	told := &tools.Walls{Network: c.Serve.AllowNet, Write: c.Serve.Write}
	if c.Serve.AllowsAllNet() {
		told.Network = []string{sessions.NetworkAll}
	}
	for _, secret := range c.Serve.Secrets() {
		told.Secrets = append(told.Secrets, tools.Secret{Name: secret.Name, Hosts: secret.Hosts()})
	}
	return told
}

// installOptions say from where agents may install packages, nil if they may not.
func installOptions(c *config.Config) *tools.InstallOptions {
	if !c.Serve.AllowInstall {
		return nil
	}
	o := &tools.InstallOptions{}
	if c.Serve.SandboxMode() != config.SandboxOff && !c.Serve.AllowsAllNet() {
		o.Restricted, o.Hosts = true, c.Serve.AllowNet
	}
	return o
}

// clientOf names the owner of the sessions that a request may reach.
func clientOf(ctx context.Context) sessions.Client {
	return sessions.Client(transport.CallerFrom(ctx).Client)
}

// NewLogger returns the logger of the process: stderr, in the wanted form.
func NewLogger(c *config.Config, to io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // config allows only levels, so this is a programmer's error
	}
	if c.Connect.IsServer() {
		to = connect.Log(os.Stderr)
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
