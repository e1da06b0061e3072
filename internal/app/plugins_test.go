package app

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/plugins"
	"understudy/sessions"
)

// pluginFiles are a directory with a plugin in each state.
var pluginFiles = map[string]string{
	"good.yaml": "name: good\ndescription: It is good.\nparameters: [{name: a, type: int, default: 1}]\nconfiguration: {k: {default: [1.0]}}\n",
	"good.py":   "source",
	"off.yaml":  "name: off\ndescription: It is off.\nenabled: false\n",
	"off.py":    "",
	"bad.yaml":  "name: bad\n",
	"bad.py":    "",
	"open.yaml": "name: open\ndescription: It would hide Python's own.\n",
	"open.py":   "",
}

func pluginDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// TestShelf: what sessions are told of each state.
func TestShelf(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	s, err := openPlugins(configOf(t, "--plugins", dir), quiet())
	must(t, err)
	given, revision := s.Plugins()
	for i := range given {
		expect(t, given[i].Helpers != "", "%s knows no state of the helpers", given[i].Name)
		given[i].Helpers, given[i].Doc = "", ""
	}
	want := []sessions.Plugin{
		{Name: "bad", File: filepath.Join(dir, "bad.py"), Broken: "bad.yaml:1: it has no description"},
		{Name: "good", File: filepath.Join(dir, "good.py"), Source: "source", Configuration: map[string]any{"k": []any{json.Number("1.0")}}, Signature: "(a=1)"},
	}
	diff := cmp.Diff(want, given)
	expect(t, diff == "", "%+v", diff)
	_, again := s.Plugins()
	expect(t, revision == 1 && again == 1, "revisions %d and %d", revision, again)
	got := s.summary()
	expect(t, strings.Contains(got, "- good(a=1): It is good.") && strings.Contains(got, "call says why): bad, open") && !strings.Contains(got, "off"), "%+v", got)
}

// TestPreloadOfPlugins: what they import is imported with what the operator has
// named, once.
func TestPreloadOfPlugins(t *testing.T) {
	c := configOf(t, "--preload", "numpy,json", "--plugins", pluginDir(t, map[string]string{
		"a.yaml": "name: a\ndescription: d\npreload: [sqlite3, json]\n", "a.py": "",
	}))
	s, err := openPlugins(c, quiet())
	must(t, err)
	diff := cmp.Diff([]string{"numpy", "json", "sqlite3"}, s.preloading(c).Serve.Preload)
	expect(t, diff == "", "%+v", diff)
	diff = cmp.Diff([]string{"numpy", "json"}, c.Serve.Preload)
	expect(t, diff == "", "the settings have changed\n%s", diff)
}

// TestPluginsOfNoUse: where nothing could call them they are not read, which is said.
func TestPluginsOfNoUse(t *testing.T) {
	var log bytes.Buffer
	s, err := openPlugins(configOf(t, "--mode", "cli-only", "--plugins", pluginDir(t, pluginFiles)), slog.New(slog.NewTextHandler(&log, nil)))
	expect(t, err == nil && s == nil && strings.Contains(log.String(), "plugins are not used") && !strings.Contains(log.String(), "plugin found"),
		"%v %v %s", s, err, &log)
}

func TestSessionVariablesAreChecked(t *testing.T) {
	_, err := openPlugins(configOf(t, "--session-variables", "a="+strings.Repeat("x", 10_001)), quiet())
	expect(t, err != nil && strings.HasPrefix(err.Error(), "session-variables: session variable \"a\" has 10001 characters"), "%+v", err)
}

// TestLoading: each version of a plugin is loaded once; a list waits for that, and tells of
// what can't be loaded as of what is broken in its files.
func TestLoading(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	s, err := openPlugins(configOf(t, "--plugins", dir), quiet())
	must(t, err)
	problem, loads, refreshed := "good.py: no", 0, 0
	s.load = func(_ context.Context, _ plugins.Set, p plugins.Plugin) (string, error) {
		if loads++; p.Name != "good" {
			t.Errorf("%s is loaded", p.Name)
		}
		return problem, nil
	}
	s.refresh = func() { refreshed++ }
	for range 2 {
		s.begin()
		s.await(t.Context())
	}
	text := s.summary()
	expect(t, loads == 1 && refreshed == 1 && strings.Contains(text, "Broken plugins (a call says why): bad, good, open"),
		"%d loads, %d refreshes: %s", loads, refreshed, text)
	given, revision := s.Plugins()
	expect(t, revision == 2 && given[1].Broken == "" && given[1].Source != "", "%d: %+v", revision, given)
	all := s.tools()
	expect(t, all[1].Broken == problem, "%+v", all)
	s.passes.stop()
	last := s.loaded
	if s.begin(); s.loaded != last {
		t.Error("a pass began after the end")
	}
}

// TestLoad: why a plugin can't be loaded, in words that name its file.
func TestLoad(t *testing.T) {
	set := plugins.Set{Plugins: []plugins.Plugin{{Name: "good", State: plugins.Ready, Callable: true, File: "/p/good.py"}}}
	raised := &sessions.Exception{Traceback: "Traceback:\n  more\nunderstudy_plugin.PluginError: plugin good can't be loaded: ValueError: no: no (good.py, line 3)\n"}
	for want, w := range map[string]*loadingWorker{
		"": {outcome: sessions.Outcome{OK: true}},
		"good.py: ValueError: no: no (good.py, line 3)":                      {outcome: sessions.Outcome{Exception: raised}},
		"good.py: its interpreter ended as it was loaded: killed by SIGSEGV": {err: &sessions.CrashError{Reason: "killed by SIGSEGV"}},
		"good.py: it is not loaded after 1 minute":                           {hangs: make(chan struct{}), err: &sessions.CrashError{Reason: "killed"}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if w.hangs == nil {
			ctx = t.Context()
		}
		got, err := LoadPlugin(ctx, TrialOptions{Starter: w, Home: t.TempDir()}, set, set.Plugins[0])
		cancel()
		expect(t, err == nil && got == want && w.told == 1, "%q, %v, not %q", got, err, want)
	}
}

// loadingWorker is a starter of itself, whose run has an outcome, once it is killed if it hangs.
type loadingWorker struct {
	sessions.Worker
	sessions.Starter
	told    int
	hangs   chan struct{}
	outcome sessions.Outcome
	err     error
}

func (w *loadingWorker) Start(context.Context, sessions.Spec) (sessions.Worker, error) { return w, nil }

func (w *loadingWorker) Equip(_ context.Context, e sessions.Equipment) error {
	w.told = len(e.Plugins)
	return nil
}

func (w *loadingWorker) Run(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error) {
	if w.hangs != nil {
		<-w.hangs
	}
	return w.outcome, w.err
}

func (w *loadingWorker) Kill() int                   { close(w.hangs); return 0 }
func (w *loadingWorker) Close(context.Context) error { return nil }
