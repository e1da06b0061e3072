// Package app wires the server together. Open starts things in the order in
// which they need each other; Close ends them in the reverse order.
package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
	"understudy/internal/connect"
	"understudy/internal/metrics"
	"understudy/internal/transport"
	"understudy/sessions"
	"understudy/tools"
)

// App is a server that is ready to serve.
type App struct {
	config   *config.Config
	log      *slog.Logger
	project  project // where a server on stdio works
	run      *runDir
	kept     *keptFiles // nil over a network
	python   *pythons
	workdirs *workdirs  // nil unless the directories of confined interpreters are kept
	data     *preparing // nil without --data
	manager  *sessions.Manager
	plugins  *shelf         // nil where there are none
	leaving  sync.WaitGroup // the ends of sessions whose clients have said goodbye
	server   *server.MCPServer
	shown    *tools.Resources

	policy  *policing   // nil when nothing is checked
	journal *journaling // nil when nothing is recorded
	saving  *saving     // nil where there are no trials

	metrics *metrics.Metrics
	ready   *readiness
}

// Open prepares everything that serving needs. Python is looked for, and what
// interpreters are forked from is started, in the background: a server without
// it can still say so.
func Open(c *config.Config, log *slog.Logger) (*App, error) {
	c, where, err := located(c)
	if err != nil {
		return nil, err
	}
	rules, err := openPolicy(c, log)
	if err != nil {
		return nil, err
	}
	proxy, err := newEgress(c.Serve.AllowNet, ownPlaces(c.Serve), log)
	if err != nil {
		return nil, err
	}
	a := &App{config: c, log: log, project: where}
	if err := a.openFiles(); err != nil {
		return nil, errors.Join(err, a.closeFiles(context.Background()))
	}
	a.python = newPythons(a.data.workingIn(a.plugins.preloading(c)), log)
	a.python.proxy = proxy
	a.metrics = a.newMetrics()
	a.ready = newReadiness(a.python, a.trialHome("trial"), log)
	options := managerOptions(c, a.python, a.run.path, log)
	options.CheckPython, options.RemakeRoot = a.python.choose, a.run.remake
	a.locateFiles(&options)
	a.python.homes = options.WorkdirRoot
	if a.plugins != nil {
		options.Equipper = a.plugins
	}
	options.Ended = a.metrics.Ended
	a.data.equip(&options)
	if a.policy = newPolicing(rules, a.python, log); a.policy != nil {
		options.Verifier, a.ready.check = a.policy, a.policy.Warm
		a.python.rules = a.policy.told()
	}
	a.python.started = a.started
	a.journal.record(&options, a.python)
	a.manager = sessions.NewManager(options)
	a.journal.beat(a.manager.Pulses)
	if a.plugins != nil {
		a.plugins.loading = newLoading(a.plugins.registry, a.loadPlugin)
	}
	a.server, a.shown = a.newServer()
	a.python.warm()
	a.policy.warm()
	a.data.begin()
	a.plugins.load()
	return a, nil
}

// openFiles opens what is kept in files, in the order in which one needs the other.
func (a *App) openFiles() (err error) {
	if a.run, err = newRunDir(a.config.DataDir, a.log); err != nil {
		return err
	}
	if a.config.Serve.SandboxMode() != config.SandboxOff {
		if err := a.run.letThrough(); err != nil {
			return err
		}
	}
	if a.kept, err = openKept(a.config, a.log); err != nil {
		return err
	}
	if a.workdirs, err = openWorkdirs(a.config, a.log); err != nil {
		return err
	}
	if a.plugins, err = openShelf(a.config, a.log); err != nil {
		return err
	}
	if a.data, err = openWorkspace(a.config, filepath.Base(a.run.path), a.log); err != nil {
		return err
	}
	if a.journal, err = openJournal(a.config, a.data.dir(), a.log); err != nil {
		return err
	}
	a.saving, err = openSaving(a.config, a.journal, a.log)
	return err
}

// closeFiles is its mirror, but that the journal is closed before the files of
// experiments, which say when the run ended.
func (a *App) closeFiles(ctx context.Context) error {
	return errors.Join(a.journal.close(ctx), a.saving.close(), a.data.close(), a.workdirs.close(), a.kept.close(), a.run.close())
}

// closeTime bounds the orderly end of all sessions; what is left is killed.
const closeTime = 30 * time.Second

// Close ends every session and removes what belonged to this run.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	a.ready.close()
	a.shown.Close()
	a.plugins.close()
	a.data.stop()    // interpreters wait for it
	a.policy.close() // first: a session ends once its code has been checked, or refused
	a.manager.Close(ctx)
	a.leaving.Wait()
	return errors.Join(a.python.Close(), a.closeFiles(ctx))
}

func managerOptions(c *config.Config, starter sessions.Starter, run string, log *slog.Logger) sessions.Options {
	limits := limitsOf(c)
	o := sessions.Options{
		Starter: starter, Logger: log,
		Dir:     filepath.Join(run, "sessions"),
		Workdir: c.Serve.Workdir, WorkdirRoot: filepath.Join(run, "work"), KeepWorkdirs: c.Serve.KeepWorkdirs,
		Timeout: c.Serve.Timeout, MaxTimeout: c.Serve.MaxTimeout, Wait: c.Serve.Wait, Grace: c.Serve.Grace,
		MaxSessions: c.Serve.MaxSessions, Queue: c.Serve.Queue, IdleTTL: c.Serve.IdleTTL,
		OutputLimit: int(c.Serve.OutputLimit), SpoolLimit: c.Serve.SpoolLimit,
		// What the text budget cuts must be in a file; it is shared by two
		// streams, the result and the error.
		SpoolAfter:      tools.SmallestText(c.Serve.TextBudget) / 4,
		RerunAfterCrash: c.Serve.RerunAfterCrash,
		History:         c.Serve.History, CopyShare: c.Serve.CopyShare, CopyIdle: c.Serve.CopyIdle, MaxPerClient: c.Serve.MaxSessionsPerClient,
		EndOldest:  c.Serve.WhenFull == "end-oldest",
		MaxRetries: c.Serve.MaxRetries, SessionVariables: c.Serve.SessionVariables,
		PrintLimit: limits.Output, MemoryLimit: limits.Memory, DiskLimit: limits.Disk,
		Conversation: func(ctx context.Context) string { return transport.CallerFrom(ctx).Conversation },
		AbandonedTTL: c.Serve.AbandonedTTL, InterruptOnLeave: c.Serve.OnDisconnect == "interrupt",
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

// locateFiles says where a server on stdio keeps what its answers name, and whom it asks
// where to work.
func (a *App) locateFiles(o *sessions.Options) {
	if a.kept == nil {
		return
	}
	o.Dir, o.WorkdirRoot, o.KeepFiles = filepath.Join(a.kept.dir, outputsName), a.kept.dir, true
	o.RemakeRoot = a.kept.remake
	if a.project.unfit != "" {
		o.Locate = a.locate
	}
}

func (a *App) newServer() (*server.MCPServer, *tools.Resources) {
	c, m, calls := a.config, newNoted(a.manager), a.newCalls()
	options := tools.Options{
		Client:     clientOf,
		TextBudget: c.Serve.TextBudget, ImageMaxSide: c.Serve.ImageMaxSide, ImageBudget: int(c.Serve.ImageBudget),
		Figures: c.Serve.Figures, StructuredContent: c.Serve.StructuredContent,
		DefaultWait: c.Serve.Wait, DefaultTimeout: c.Serve.Timeout, History: c.Serve.History, Logger: a.log,
		MaxUpload: int(c.Serve.MaxUpload), Mode: c.Serve.Mode, Read: calls.read,
	}
	options.OperatorsWords = c.Serve.Instructions
	if c.Serve.Timeout == config.LimitNone {
		options.DefaultTimeout = -1
	}
	options.Trials, options.Steps, options.RunDir = c.Serve.Trials, c.Serve.Steps, experimentsDir(c)
	options.Task, options.Search = c.Serve.Task, searchOf(c)
	if a.saving != nil {
		options.Report = a.saving.facts
	}
	if a.data != nil {
		options.Preview = a.newPreviewer().Text
		options.PreviewReady = a.data.waitAWhile
	}
	shared := a.data != nil || c.Serve.Workdir != ""
	options.SharedFiles, options.FilesEnd = shared, !shared && !c.Serve.KeepWorkdirs
	options.Rules, options.Walls, options.Install = a.policy.told(), toldWalls(c), installOptions(c)
	options.Pythons = offeredPythons(c)
	if a.plugins != nil {
		options.PluginSummary, options.PluginTools = a.plugins.summary, a.plugins.tools
	}
	s := server.NewMCPServer("understudy", Version(),
		server.WithTitle("understudy"),
		server.WithInstructions(options.Instructions()),
		server.WithToolCapabilities(a.plugins != nil), // they may change
		server.WithToolHandlerMiddleware(calls.middleware),

		server.WithPromptCapabilities(false),
	)
	transport.TellCodes(s)
	a.plugins.attach(s, tools.Register(s, m, options))
	return s, tools.RegisterResources(s, m, options)
}

// experimentsDir is where experiments have their directories.
func experimentsDir(c *config.Config) string {
	if c.Serve.RunDir != "" {
		return c.Serve.RunDir
	}
	return filepath.Join(c.DataDir, "experiments")
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
