// Package app wires the server together. Open starts things in the order in
// which they need each other; Close ends them in the reverse order.
package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/auth"
	"understudy/internal/config"
	"understudy/internal/egress"
	"understudy/internal/metrics"
	"understudy/internal/traces"
	"understudy/internal/upstream"
	"understudy/sessions"
	"understudy/tools"
	"understudy/tools/resources"
)

// App is a server that is ready to serve.
type App struct {
	config    *config.Config
	log       *slog.Logger
	project   project // where a server on stdio works
	run       *runDir
	kept      *keptFiles // nil over a network
	python    *pythons
	workspace *workspaceService // nil without --data
	manager   *sessions.Manager
	plugins   *pluginSet      // nil where there are none
	policy    *policyService  // nil when nothing is checked
	rules     *tools.Rules    // likewise
	journal   *journalService // nil when nothing is recorded
	trials    *experiments    // nil where there are none
	leaving   sync.WaitGroup  // the ends of sessions whose clients have said goodbye
	server    *server.MCPServer
	shown     *resources.Server
	metrics   *metrics.Metrics
	traces    *traces.Tracer    // nil where no endpoint is configured
	upstream  *upstream.Servers // nil without --mcp
	ready     *readiness
	tenant    atomic.Pointer[auth.Tenant] // nil where nobody authenticates

	ends []func(context.Context) error // of what was started, in that order
}

// Open prepares everything that serving needs. Python is looked for, and what
// interpreters are forked from is started, in the background: a server without
// it can still say so.
func Open(c *config.Config, log *slog.Logger) (*App, error) {
	secrets, err := TakeSecrets(c)
	if err != nil {
		return nil, err
	}
	return openWith(c, secrets, log)
}

// openWith is Open for who has taken the secrets before.
func openWith(c *config.Config, secrets []egress.Secret, log *slog.Logger) (_ *App, err error) {
	a := &App{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.config, a.project, err = located(c); err != nil {
		return nil, err
	}
	rules, err := OpenPolicy(a.config, log)
	if err != nil {
		return nil, err
	}
	proxy, err := newEgress(a.config.Serve.AllowNet, secrets, ownPlaces(a.config.Serve), log)
	if err != nil {
		return nil, err
	}
	a.openTraces()
	if err := errors.Join(a.openUpstream(), a.openFiles()); err != nil {
		return nil, err
	}
	a.rules = rulesFor(rules)
	options := a.managerOptions()
	a.python = a.newPythons(options.WorkdirRoot)
	a.python.proxy = proxy
	a.endWithError(a.python.Close)
	if err := a.carrySecrets(proxy); err != nil {
		return nil, err
	}
	options.Starter, options.CheckPython = a.python, a.python.choose
	a.metrics = a.newMetrics()
	options.Ended = a.ended
	if a.traces != nil {
		options.Trace = a.traces.Execution
	}
	a.ready = newReadiness(a.settledOptions, log)
	a.python.started = a.started
	if rules != nil {
		a.policy = newPolicyService(rules, a.python, log)
		options.Verifier, a.ready.check = a.policy, a.policy.Warm
	}
	a.manager = sessions.NewManager(options)
	a.ends = append(a.ends, a.endSessions)
	if a.policy != nil { // before sessions: one ends once its code has been checked, or refused
		a.endWith(a.policy.close)
	}
	if a.journal != nil {
		a.journal.beat(a.manager.Heartbeats)
	}
	a.server, a.shown = a.newServer()
	a.python.warm()
	a.begin()
	return a, nil
}

// begin starts what goes on in the background beside the sessions.
func (a *App) begin() {
	if a.workspace != nil {
		a.workspace.begin()
		a.endWith(a.workspace.work.stop) // interpreters wait for it
	}
	if a.plugins != nil {
		a.plugins.load = a.loadPlugin
		a.plugins.begin()
		a.endWith(a.plugins.passes.stop)
	}
	a.endWith(a.shown.Close)
	a.endWith(a.ready.close)
}

// openFiles opens what is kept in files, in the order in which one needs the other.
func (a *App) openFiles() (err error) {
	removeLeftovers(filepath.Join(a.config.DataDir, runsName), a.log)
	if a.run, err = newRunDir(a.config, runsName, newRunName); err != nil {
		return err
	}
	a.endWithError(a.run.close)
	if a.kept, err = openKept(a.config, a.log); err != nil {
		return err
	}
	if a.kept != nil {
		a.endWithError(a.kept.close)
	}
	workdirs, err := reclaimWorkdirs(a.config, a.log)
	if err != nil {
		return err
	}
	if workdirs != nil {
		a.endWithError(workdirs.Unlock)
	}
	if a.plugins, err = openPlugins(a.config, a.log); err != nil {
		return err
	}
	if a.workspace, err = openWorkspace(a.config, filepath.Base(a.run.dir), a.log); err != nil {
		return err
	}
	if a.workspace != nil {
		a.endWithError(a.workspace.close)
	}
	return a.openJournal()
}

// openJournal opens what records. The journal is closed before the files of experiments,
// which say when the run ended.
func (a *App) openJournal() (err error) {
	dir := ""
	if a.workspace != nil {
		dir = a.workspace.plan.Dir()
	}
	if a.journal, err = openJournal(a.config, dir, a.log); err != nil || a.journal == nil {
		return err
	}
	if a.config.Serve.Trials {
		a.trials, err = openExperiments(a.config, a.journal, a.log)
	}
	a.ends = append(a.ends, func(ctx context.Context) error {
		err := a.journal.close(ctx)
		if a.trials != nil {
			err = errors.Join(err, a.trials.close())
		}
		return err
	})
	return err
}

// closeTime bounds the orderly end of all sessions; what is left is killed.
const closeTime = 30 * time.Second

// endWith has Close call end, before all that was started earlier.
func (a *App) endWith(end func()) {
	a.endWithError(func() error {
		end()
		return nil
	})
}

func (a *App) endWithError(end func() error) {
	a.ends = append(a.ends, func(context.Context) error { return end() })
}

func (a *App) endSessions(ctx context.Context) error {
	a.manager.Close(ctx)
	a.leaving.Wait()
	return nil
}

// Close ends every session and removes what belonged to this run.
func (a *App) Close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	for _, end := range slices.Backward(a.ends) {
		err = errors.Join(err, end(ctx))
	}
	return err
}

// version is set by the linker: -X understudy/internal/app.version=v1.2.3.
var version string

// Version is the version of this build: the linker's, else what Go recorded of
// the module or the commit, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return commit(info.Settings)
}

// commit names the commit of a build from a checkout.
func commit(settings []debug.BuildSetting) string {
	name := "devel"
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) >= 12:
			name += "-" + setting.Value[:12]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			name += "-modified"
		}
	}
	return name
}
