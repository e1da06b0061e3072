package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/phrase"
	"understudy/internal/plugins"
	"understudy/sessions"
)

// ListPlugins is the command plugins list: what there is, and what is wrong. Each plugin is
// loaded, as a server does it; where that can't be the list is of the files alone.
func ListPlugins(ctx context.Context, c *config.Config, out, problems io.Writer) error {
	registry, err := plugins.Open(c.Plugins.Dir, plugins.Options{})
	if err != nil {
		return err
	}
	if err := loadAll(ctx, c, registry); err != nil {
		fmt.Fprintf(problems, "it was not tried whether the plugins can be loaded: %v\n", err)
	}
	return listPlugins(c, registry.Known(), out)
}

func loadAll(ctx context.Context, c *config.Config, registry *plugins.Registry) error {
	b, err := newBench(ctx, c, registry.Known(), nil)
	if err != nil {
		return err
	}
	defer b.close()
	for _, p := range b.set.Ready() {
		o, err := b.options()
		if err != nil {
			return err
		}
		problem, err := app.LoadPlugin(ctx, o, b.set, p)
		if err != nil {
			return err
		}
		registry.Judge(p, problem)
	}
	return nil
}

func listPlugins(c *config.Config, set plugins.Set, out io.Writer) error {
	if c.Plugins.List.JSON {
		return listJSON(set, out)
	}
	if len(set.Plugins) == 0 {
		_, err := fmt.Fprintf(out, "no plugins in %s\n", c.Plugins.Dir)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range set.Plugins {
		texts := p.Problems
		if p.Description != "" {
			texts = append([]string{p.Headline()}, texts...)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", p.Name, p.State, strings.Join(texts, "\n\t\t"))
	}
	return table.Flush()
}

// listJSON is for programs.
func listJSON(set plugins.Set, out io.Writer) error {
	type line struct {
		Name        string        `json:"name"`
		State       plugins.State `json:"state"`
		Signature   string        `json:"signature,omitempty"`
		Description string        `json:"description,omitempty"`
		Problems    []string      `json:"problems,omitempty"`
	}
	lines := []line{}
	for _, p := range set.Plugins {
		lines = append(lines, line{p.Name, p.State, p.Signature, p.Description, p.Problems})
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(lines)
}

// CheckPlugins is the command plugins check: besides the files it tries whether
// each plugin can be loaded. Its error says how many can't be used.
func CheckPlugins(ctx context.Context, c *config.Config, out io.Writer) error {
	return tryPlugins(ctx, c, out, c.Plugins.Check.Names, (*bench).check)
}

// TestPlugins is the command plugins test: it runs the test that each plugin may
// have. Its error says how many have failed.
func TestPlugins(ctx context.Context, c *config.Config, out io.Writer) error {
	return tryPlugins(ctx, c, out, c.Plugins.Test.Names, (*bench).test)
}

// attempt is how a plugin that is ready is tried.
type attempt func(*bench, context.Context, plugins.Plugin) (verdict, error)

func tryPlugins(ctx context.Context, c *config.Config, out io.Writer, names []string, try attempt) error {
	registry, err := plugins.Open(c.Plugins.Dir, plugins.Options{})
	if err != nil {
		return err
	}
	b, err := newBench(ctx, c, registry.Known(), names)
	if err != nil {
		return err
	}
	defer b.close()
	return b.each(ctx, out, try)
}

func (b *bench) check(ctx context.Context, p plugins.Plugin) (verdict, error) {
	_, v := b.run(ctx, "broken", sessions.Request{Code: app.CheckOfPlugin(p)})
	if v.words == "" {
		v.words = "ok"
	}
	return v, ctx.Err()
}

func (b *bench) test(ctx context.Context, p plugins.Plugin) (verdict, error) {
	code := fmt.Sprintf("import understudy_plugin\ntested = understudy_plugin.run_test(%q)", p.Name)
	outcome, v := b.run(ctx, "failed", sessions.Request{Code: code, ResultVarName: "tested"})
	switch {
	case v.bad:
	case string(outcome.Result) == "false":
		v.words = "has no test"
	default:
		v.words = "passed, in " + outcome.ExecTime.Round(time.Millisecond).String()
	}
	return v, ctx.Err()
}

// bench is where plugins are tried, each in an interpreter of its own.
type bench struct {
	set     plugins.Set
	chosen  []plugins.Plugin
	starter sessions.Starter
	close   func()
}

func newBench(ctx context.Context, c *config.Config, set plugins.Set, names []string) (*bench, error) {
	chosen, err := choosePlugins(set, names)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(chosen, func(p plugins.Plugin) bool { return p.State == plugins.Ready }) {
		return &bench{set: set, chosen: chosen, close: func() {}}, nil // none is tried
	}
	found, err := app.FindPython(ctx, c)
	if err != nil {
		return nil, err
	}
	spawned := *c
	spawned.Serve.Start = "spawn" // there is nothing that forks would share
	starter := app.NewStarter(&spawned, found, nil)
	closing := func() { _ = starter.Close(context.WithoutCancel(ctx)) } // its workers have been closed
	return &bench{set, chosen, starter, closing}, nil
}

// choosePlugins returns the plugins that are named, all when none is.
func choosePlugins(set plugins.Set, names []string) ([]plugins.Plugin, error) {
	if len(names) == 0 {
		return set.Plugins, nil
	}
	var chosen []plugins.Plugin
	for _, name := range names {
		i := slices.IndexFunc(set.Plugins, func(p plugins.Plugin) bool { return p.Name == name })
		if i < 0 {
			var all []string
			for _, p := range set.Plugins {
				all = append(all, p.Name)
			}
			return nil, fmt.Errorf("there is no plugin %q; there are: %s", name, strings.Join(all, ", "))
		}
		chosen = append(chosen, set.Plugins[i])
	}
	return chosen, nil
}

// verdict is what became of trying one plugin.
type verdict struct {
	words  string
	bad    bool
	detail string // lines
}

// each tries the plugins that can be, and says what became of them.
func (b *bench) each(ctx context.Context, out io.Writer, try attempt) error {
	bad := 0
	for _, p := range b.chosen {
		v := verdict{words: "disabled, not tried"}
		var err error
		switch p.State {
		case plugins.Broken:
			v = verdict{"broken", true, strings.Join(p.Problems, "\n")}
		case plugins.Ready:
			v, err = try(b, ctx, p)
		}
		if err != nil {
			return err
		}
		if v.bad {
			bad++
		}
		text := p.Name + ": " + v.words + "\n"
		for line := range strings.Lines(lastOf(strings.TrimSpace(v.detail))) {
			text += "  " + strings.TrimRight(line, "\n") + "\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %s can't be used as they are", bad, phrase.Count(len(b.chosen), "plugin"))
	}
	return nil
}

// options are those of a fresh interpreter in a directory of its own.
func (b *bench) options() (app.TrialOptions, error) {
	home, err := os.MkdirTemp("", "understudy-plugins-")
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	return app.TrialOptions{Starter: b.starter, Name: "plugins", Home: home}, err
}

// run runs code in a fresh interpreter that has the plugins. The verdict is bad, in these
// words, on what raises an exception or takes its worker with it; else it has no words yet.
func (b *bench) run(ctx context.Context, bad string, r sessions.Request) (outcome sessions.Outcome, v verdict) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, fmt.Errorf("it took longer than %s", phrase.Duration(trialTime)))
	defer cancel()
	r.Execution, r.Kind = 1, sessions.RunsCode
	o, err := b.options()
	if err == nil {
		err = app.Try(ctx, o, func(t *app.Trial) (err error) {
			if err := t.Worker.Equip(ctx, app.Equipment(b.set)); err != nil {
				return err
			}
			outcome, err = t.Run(ctx, t.Worker, r)
			v.detail = t.Text()
			return err
		})
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && outcome.Exception == nil {
		return outcome, verdict{}
	}
	v.words, v.bad = bad, true
	if outcome.Exception != nil {
		v.detail += outcome.Exception.Traceback
	}
	if err != nil {
		v.detail += err.Error()
	}
	return outcome, v
}

// mostDetail is how many bytes of what a plugin has said are shown.
const mostDetail = 16_000

// lastOf returns the end of a long text, where the exception is, and says how much
// is left out.
func lastOf(text string) string {
	left := len(text) - mostDetail
	if left <= 0 {
		return text
	}
	return fmt.Sprintf("… %d bytes before this are left out\n%s", left, strings.ToValidUTF8(text[left:], ""))
}
