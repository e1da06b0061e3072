package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"understudy/internal/config"
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
	if err = loadAll(ctx, c, registry); err != nil {
		fmt.Fprintf(problems, "it was not tried whether the plugins can be loaded: %v\n", err)
	}
	return listPlugins(c, registry.Known(), out)
}

func loadAll(ctx context.Context, c *config.Config, registry *plugins.Registry) error {
	ready := registry.Known().Ready()
	if len(ready) == 0 {
		return nil
	}
	b, err := newBench(ctx, c, io.Discard, nil)
	if err != nil {
		return err
	}
	defer b.close()
	for _, p := range ready {
		problem, err := b.load(ctx, p)
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
	text, err := json.MarshalIndent(lines, "", "  ")
	if err != nil {
		return fmt.Errorf("printing the plugins: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

func readPlugins(c *config.Config) (plugins.Set, error) {
	registry, err := plugins.Open(c.Plugins.Dir, plugins.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return plugins.Set{}, err
	}
	return registry.Set(), nil
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

func tryPlugins(ctx context.Context, c *config.Config, out io.Writer, names []string, try func(*bench, context.Context, plugins.Plugin) (verdict, error)) error {
	b, err := newBench(ctx, c, out, names)
	if err != nil {
		return err
	}
	defer b.close()
	return b.each(ctx, func(ctx context.Context, p plugins.Plugin) (verdict, error) { return try(b, ctx, p) })
}

func (b *bench) check(ctx context.Context, p plugins.Plugin) (verdict, error) {
	t, outcome, err := b.run(ctx, fmt.Sprintf("import understudy_plugin\nunderstudy_plugin.check(%q)", p.Name), "")
	if err != nil || outcome.Exception != nil {
		return failure("broken", t, outcome, err), ctx.Err()
	}
	return verdict{words: "ok"}, nil
}

func (b *bench) test(ctx context.Context, p plugins.Plugin) (verdict, error) {
	t, outcome, err := b.run(ctx, fmt.Sprintf("import understudy_plugin\ntested = understudy_plugin.run_test(%q)", p.Name), "tested")
	switch {
	case err != nil || outcome.Exception != nil:
		return failure("failed", t, outcome, err), ctx.Err()
	case string(outcome.Result) == "false":
		return verdict{words: "has no test"}, nil
	}
	return verdict{words: "passed, in " + outcome.ExecTime.Round(time.Millisecond).String()}, nil
}

// bench is where plugins are tried, each in an interpreter of its own.
type bench struct {
	out    io.Writer
	set    plugins.Set
	chosen []plugins.Plugin
	start  func(ctx context.Context, spec sessions.Spec) (sessions.Worker, error)
	close  func()
}

func newBench(ctx context.Context, c *config.Config, out io.Writer, names []string) (*bench, error) {
	set, err := readPlugins(c)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(set, names)
	if err != nil {
		return nil, err
	}
	found, err := findPython(ctx, c)
	if err != nil {
		return nil, err
	}
	spawned := *c
	spawned.Serve.Start = "spawn" // there is nothing that forks would share
	starter := newStarter(&spawned, found, nil, quiet())
	closing := func() { _ = starter.Close(context.WithoutCancel(ctx)) } // its workers have been closed
	return &bench{out, set, chosen, starter.Start, closing}, nil
}

// choose returns the plugins that are named, all when none is.
func choose(set plugins.Set, names []string) ([]plugins.Plugin, error) {
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

// failure is the verdict on what raised an exception, or took its worker with it.
func failure(words string, t *trial, outcome sessions.Outcome, err error) verdict {
	detail := t.text.String()
	if outcome.Exception != nil {
		detail += withoutCell(outcome.Exception.Traceback)
	}
	if err != nil {
		detail += err.Error()
	}
	return verdict{words, true, detail}
}

// withoutCell leaves our own line that has asked for the trial out of a traceback.
func withoutCell(traceback string) string {
	var rest strings.Builder
	ours := false
	for line := range strings.Lines(traceback) {
		ours = strings.HasPrefix(line, `  File "<cell 1>", line 2, `) || ours && strings.HasPrefix(line, "    ")
		if !ours {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// each tries the plugins that can be, and says what became of them.
func (b *bench) each(ctx context.Context, try func(context.Context, plugins.Plugin) (verdict, error)) error {
	bad := 0
	for _, p := range b.chosen {
		v := verdict{words: "disabled, not tried"}
		var err error
		switch p.State {
		case plugins.Broken:
			v = verdict{"broken", true, strings.Join(p.Problems, "\n")}
		case plugins.Ready:
			v, err = try(ctx, p)
		}
		if err != nil {
			return err
		}
		if v.bad {
			bad++
		}
		if err := b.say(p, v); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %s can't be used as they are", bad, sessions.Counted(len(b.chosen), "plugin"))
	}
	return nil
}

func (b *bench) say(p plugins.Plugin, v verdict) error {
	var text strings.Builder
	text.WriteString(p.Name + ": " + v.words + "\n")
	for line := range strings.Lines(lastOf(strings.TrimSpace(v.detail))) {
		text.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	_, err := io.WriteString(b.out, text.String())
	return err
}

const (
	mostDetailLines = 100
	mostDetail      = 16_000 // bytes
)

// lastOf returns the end of a long text, where the exception is, and says how much
// is left out.
func lastOf(text string) string {
	start := max(0, len(text)-mostDetail)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	kept := text[start:]
	if lines := strings.Count(kept, "\n") + 1; lines > mostDetailLines {
		all := strings.SplitN(kept, "\n", lines-mostDetailLines+1)
		kept = all[len(all)-1]
	}
	if left := len(text) - len(kept); left > 0 {
		return fmt.Sprintf("… %d bytes before this are left out\n%s", left, kept)
	}
	return kept
}

// run runs code in a fresh interpreter that has the plugins.
func (b *bench) run(ctx context.Context, code, variable string) (t *trial, outcome sessions.Outcome, err error) {
	t = &trial{}
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, fmt.Errorf("it took longer than %s", sessions.InWords(trialTime)))
	defer cancel()
	err = b.within(ctx, func(w sessions.Worker) error {
		// A plugin that hangs answers no context, but its worker can be killed.
		defer context.AfterFunc(ctx, func() { w.Kill() })()
		if err := w.Equip(ctx, sessions.Equipment{Plugins: equipment(b.set)}); err != nil {
			return err
		}
		outcome, err = w.Run(ctx, sessions.Request{Execution: 1, Kind: sessions.RunsCode, Code: code, ResultVarName: variable}, t)
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return t, outcome, err
}

// load returns why a plugin can't be loaded, "" if it can.
func (b *bench) load(ctx context.Context, p plugins.Plugin) (problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTime)
	defer cancel()
	err = b.within(ctx, func(w sessions.Worker) error {
		problem, err = load(ctx, w, b.set, p)
		return err
	})
	if problem != "" { // whatever its interpreter says at its end
		return problem, nil
	}
	return "", err
}

// within starts an interpreter in a directory of its own, has it do something, and ends it.
func (b *bench) within(ctx context.Context, do func(sessions.Worker) error) (err error) {
	directory, err := os.MkdirTemp("", "understudy-plugins-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	if directory, err = filepath.EvalSymlinks(directory); err != nil {
		return err
	}
	w, err := b.start(ctx, sessions.Spec{InterpreterID: "plugins", Workdir: directory, FirstExecution: 1})
	if err != nil {
		return err
	}
	err = do(w)
	return errors.Join(err, w.Close(context.WithoutCancel(ctx)))
}
