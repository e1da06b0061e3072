package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"understudy/internal/plugins"
	"understudy/sessions"
)

// pluginTime bounds the loading of one plugin, with the start of its interpreter.
const pluginTime = time.Minute

// loadPlugin loads a plugin in an interpreter of its own, behind the wall of the sessions.
func (a *App) loadPlugin(ctx context.Context, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	o, err := a.trialOptions(ctx, "plugin")
	if err != nil {
		return "", err
	}
	o.Workdir = a.config.Serve.Workdir
	problem, err = LoadPlugin(ctx, o, set, p)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("a plugin could not be tried", "plugin", p.Name, "error", err)
	}
	return problem, err
}

// LoadPlugin returns why an interpreter can't load a plugin of a set, "" if it can. An error
// says that it could not be tried.
func LoadPlugin(ctx context.Context, o TrialOptions, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	err = Try(ctx, o, func(t *Trial) error {
		problem, err = load(ctx, t, set, p)
		return err
	})
	if problem != "" { // whatever its interpreter says at its end
		return problem, nil
	}
	return "", err
}

// load has a fresh worker load a plugin and returns why it can't be.
func load(ctx context.Context, t *Trial, set plugins.Set, p plugins.Plugin) (problem string, err error) {
	if err := t.Worker.Equip(ctx, Equipment(set)); err != nil {
		return "", err
	}
	outcome, err := t.Run(ctx, t.Worker, sessions.Request{Execution: 1, Kind: sessions.RunsCode, Code: CheckOfPlugin(p)})
	file := filepath.Base(p.File) + ": "
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return file + "it is not loaded after " + sessions.InWords(pluginTime), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return file + "its interpreter ended as it was loaded: " + err.Error(), nil
	case outcome.Exception == nil:
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(outcome.Exception.Traceback), "\n")
	_, said, _ := strings.Cut(lines[len(lines)-1], ": ") // without the exception's class
	return file + strings.TrimPrefix(said, "plugin "+p.Name+" can't be loaded: "), nil
}

// CheckOfPlugin is code that raises unless a plugin can be loaded.
func CheckOfPlugin(p plugins.Plugin) string {
	return fmt.Sprintf("import understudy_plugin\nunderstudy_plugin.check(%q)", p.Name)
}
