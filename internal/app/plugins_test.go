package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/config"
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pluginConfig(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(config.Source{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestShelf: what sessions are told of each state.
func TestShelf(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	s, err := openShelf(pluginConfig(t, "--plugins", dir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	given, revision := s.Plugins()
	for i := range given {
		if given[i].Helpers == "" {
			t.Errorf("%s knows no state of the helpers", given[i].Name)
		}
		given[i].Helpers, given[i].Doc = "", ""
	}
	want := []sessions.Plugin{
		{Name: "bad", File: filepath.Join(dir, "bad.py"), Broken: "bad.yaml:1: it has no description"},
		{Name: "good", File: filepath.Join(dir, "good.py"), Source: "source", Configuration: map[string]any{"k": []any{json.Number("1.0")}}, Signature: "(a=1)"},
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Error(diff)
	}
	if _, again := s.Plugins(); revision != 1 || again != 1 {
		t.Errorf("revisions %d and %d", revision, again)
	}
	if got := s.summary(); !strings.Contains(got, "- good(a=1): It is good.") || !strings.Contains(got, "call says why): bad, open") || strings.Contains(got, "off") {
		t.Error(got)
	}
}

// TestPreloadOfPlugins: what they import is imported with what the operator has
// named, once.
func TestPreloadOfPlugins(t *testing.T) {
	c := pluginConfig(t, "--preload", "numpy,json", "--plugins", pluginDir(t, map[string]string{
		"a.yaml": "name: a\ndescription: d\npreload: [sqlite3, json]\n", "a.py": "",
	}))
	s, err := openShelf(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"numpy", "json", "sqlite3"}, s.preloading(c).Serve.Preload); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"numpy", "json"}, c.Serve.Preload); diff != "" {
		t.Errorf("the settings have changed\n%s", diff)
	}
}

func TestWithoutPlugins(t *testing.T) {
	s, err := openShelf(pluginConfig(t), slog.New(slog.DiscardHandler))
	if err != nil || s != nil {
		t.Fatalf("%v %v", s, err)
	}
	s.attach(nil, nil)
	if c := pluginConfig(t); s.preloading(c) != c {
		t.Error("other settings")
	}
}

// TestPluginsOfNoUse: where nothing could call them they are not read, which is said.
func TestPluginsOfNoUse(t *testing.T) {
	var log bytes.Buffer
	s, err := openShelf(pluginConfig(t, "--mode", "cli-only", "--plugins", pluginDir(t, pluginFiles)), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || s != nil || !strings.Contains(log.String(), "plugins are not used") || strings.Contains(log.String(), "plugin found") {
		t.Errorf("%v %v %s", s, err, &log)
	}
}

func TestSessionVariablesAreChecked(t *testing.T) {
	_, err := openShelf(pluginConfig(t, "--session-variables", "a="+strings.Repeat("x", 10_001)), slog.New(slog.DiscardHandler))
	if err == nil || !strings.HasPrefix(err.Error(), "session-variables: session variable \"a\" has 10001 characters") {
		t.Error(err)
	}
}

// TestToolsFollowTheFiles: a change of the directory reaches what is told of
// tools, and the sessions.
func TestToolsFollowTheFiles(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	s, err := openShelf(pluginConfig(t, "--plugins", dir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	refreshed := ""
	s.refresh = func() { refreshed = s.summary() }
	s.loading = newLoading(s.registry, func(context.Context, plugins.Set, plugins.Plugin) (string, error) { return "", nil })
	defer s.close()
	if err := os.Remove(filepath.Join(dir, "good.yaml")); err != nil {
		t.Fatal(err)
	}
	for refreshed == "" { // the files are looked at once a second
		s.Plugins()
		time.Sleep(10 * time.Millisecond)
	}
	given, revision := s.Plugins()
	if len(given) != 1 || revision != 2 || strings.Contains(refreshed, "good") {
		t.Errorf("%+v, revision %d, %s", given, revision, refreshed)
	}
}

func TestListPlugins(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	list := func(args ...string) string {
		t.Helper()
		c := pluginConfig(t, append([]string{"plugins", "list", "--plugins"}, args...)...)
		set, err := readPlugins(c)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := listPlugins(c, set, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	want := `bad   broken    bad.yaml:1: it has no description
good  ready     It is good.
off   disabled  It is off.
open  broken    It would hide Python's own.
                open.yaml: "open" is Python's own; give the plugin another name
`
	if diff := cmp.Diff(want, list(dir)); diff != "" {
		t.Error(diff)
	}
	var lines []map[string]any
	if err := json.Unmarshal([]byte(list(dir, "--json")), &lines); err != nil || len(lines) != 4 || lines[1]["signature"] != "(a=1)" || lines[0]["state"] != "broken" {
		t.Errorf("%v %s", err, lines)
	}
	if text := list(t.TempDir()); !strings.HasPrefix(text, "no plugins in ") {
		t.Error(text)
	}
}

// TestLoading: each version of a plugin is loaded once; a list waits for that, and tells of
// what can't be loaded as of what is broken in its files.
func TestLoading(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	s, err := openShelf(pluginConfig(t, "--plugins", dir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	problem, loads, refreshed := "good.py: no", 0, 0
	s.loading = newLoading(s.registry, func(_ context.Context, _ plugins.Set, p plugins.Plugin) (string, error) {
		if loads++; p.Name != "good" {
			t.Errorf("%s is loaded", p.Name)
		}
		return problem, nil
	})
	s.refresh = func() { refreshed++ }
	for range 2 {
		s.load()
		s.loading.await(t.Context())
	}
	if text := s.summary(); loads != 1 || refreshed != 1 || !strings.Contains(text, "Broken plugins (a call says why): bad, good, open") {
		t.Errorf("%d loads, %d refreshes: %s", loads, refreshed, text)
	}
	if given, revision := s.Plugins(); revision != 2 || given[1].Broken != "" || given[1].Source == "" {
		t.Errorf("%d: %+v", revision, given)
	}
	if all := s.tools(); all[1].Broken != problem {
		t.Errorf("%+v", all)
	}
	s.close()
}

// TestLoad: why a plugin can't be loaded, in words that name its file.
func TestLoad(t *testing.T) {
	set := plugins.Set{Plugins: []plugins.Plugin{{Name: "good", State: plugins.Ready, Callable: true, File: "/p/good.py"}}}
	for want, run := range map[string]func(w *fakeWorker) (sessions.Outcome, error){
		"": func(*fakeWorker) (sessions.Outcome, error) { return sessions.Outcome{OK: true}, nil },
		"good.py: ValueError: no: no (good.py, line 3)": func(*fakeWorker) (sessions.Outcome, error) {
			return sessions.Outcome{Exception: &sessions.Exception{Traceback: "Traceback:\n  more\nunderstudy_plugin.PluginError: plugin good can't be loaded: ValueError: no: no (good.py, line 3)\n"}}, nil
		},
		"good.py: its interpreter ended as it was loaded: killed by SIGSEGV": func(*fakeWorker) (sessions.Outcome, error) {
			return sessions.Outcome{}, &sessions.CrashError{Reason: "killed by SIGSEGV"}
		},
		"good.py: it is not loaded after 1 minute": func(w *fakeWorker) (sessions.Outcome, error) {
			<-w.killed
			return sessions.Outcome{}, &sessions.CrashError{Reason: "killed"}
		},
	} {
		var told sessions.Equipment
		w := &fakeWorker{killed: make(chan struct{})}
		w.run = func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error) { return run(w) }
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if !strings.Contains(want, "not loaded") {
			ctx = t.Context()
		}
		got, err := load(ctx, equippable{w, &told}, set, set.Plugins[0])
		cancel()
		if err != nil || got != want || len(told.Plugins) != 1 {
			t.Errorf("%q, %v, not %q", got, err, want)
		}
	}
}

// equippable is a worker that answers as it is told to, and takes plugins.
type equippable struct {
	*fakeWorker
	told *sessions.Equipment
}

func (w equippable) Equip(_ context.Context, e sessions.Equipment) error {
	*w.told = e
	return nil
}

// benchOf is a bench whose interpreters do what run says.
func benchOf(t *testing.T, out *bytes.Buffer, told *sessions.Equipment, run func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error)) *bench {
	t.Helper()
	c := pluginConfig(t, "plugins", "list", "--plugins", pluginDir(t, pluginFiles))
	set, err := readPlugins(c)
	if err != nil {
		t.Fatal(err)
	}
	start := func(context.Context, sessions.Spec) (sessions.Worker, error) {
		return equippable{&fakeWorker{run: run, killed: make(chan struct{})}, told}, nil
	}
	return &bench{out: out, set: set, chosen: set.Plugins, start: start, close: func() {}}
}

const restOfBench = "off: disabled, not tried\nopen: broken\n  open.yaml: \"open\" is Python's own; give the plugin another name\n"

func TestCheckOfPlugins(t *testing.T) {
	const broken = "bad: broken\n  bad.yaml:1: it has no description\n"
	for name, test := range map[string]struct {
		run  func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error)
		want string
		bad  int
	}{
		"loads": {func(_ context.Context, r sessions.Request, _ sessions.Sink) (sessions.Outcome, error) {
			if r.Code != "import understudy_plugin\nunderstudy_plugin.check(\"good\")" || r.Kind != sessions.RunsCode {
				return sessions.Outcome{}, fmt.Errorf("asked for %+v", r)
			}
			return sessions.Outcome{OK: true}, nil
		}, broken + "good: ok\n" + restOfBench, 2},
		"raises": {func(_ context.Context, _ sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
			sink.Output(sessions.Stdout, []byte("loading\n"))
			return sessions.Outcome{Exception: &sessions.Exception{Traceback: "Traceback:\n  File \"<cell 1>\", line 2, in <module>\n    understudy_plugin.check(\"good\")\n  line 1\nPluginError: no\n"}}, nil
		}, broken + "good: broken\n  loading\n  Traceback:\n    line 1\n  PluginError: no\n" + restOfBench, 3},
		"crashes": {func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error) {
			return sessions.Outcome{}, &sessions.CrashError{Reason: "killed by SIGSEGV"}
		}, broken + "good: broken\n  killed by SIGSEGV\n" + restOfBench, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			var told sessions.Equipment
			b := benchOf(t, &out, &told, test.run)
			err := b.each(t.Context(), b.check)
			if want := fmt.Sprintf("%d of 4 plugins can't be used as they are", test.bad); err == nil || err.Error() != want {
				t.Errorf("error %v, not %s", err, want)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if len(told.Plugins) != 2 {
				t.Errorf("told %+v", told)
			}
		})
	}
}

func TestTestsOfPlugins(t *testing.T) {
	for answer, want := range map[string]string{"false": "good: has no test\n", "true": "good: passed, in 1.5s\n", "null": "good: passed, in 1.5s\n"} {
		var out bytes.Buffer
		b := benchOf(t, &out, &sessions.Equipment{}, func(_ context.Context, r sessions.Request, _ sessions.Sink) (sessions.Outcome, error) {
			return sessions.Outcome{OK: true, ExecTime: 1500 * time.Millisecond, Result: json.RawMessage(answer)}, nil
		})
		b.chosen = b.set.Ready()
		if err := b.each(t.Context(), b.test); err != nil || out.String() != want {
			t.Errorf("%s: %v %q", answer, err, &out)
		}
	}
}

// TestLongDetails: of much output its end is shown, which has the exception.
func TestLongDetails(t *testing.T) {
	var out bytes.Buffer
	b := benchOf(t, &out, &sessions.Equipment{}, func(_ context.Context, _ sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
		sink.Output(sessions.Stdout, bytes.Repeat([]byte("said\n"), 300_000))
		return sessions.Outcome{Exception: &sessions.Exception{Traceback: "AssertionError: no\n"}}, nil
	})
	b.chosen = b.set.Ready()
	if err := b.each(t.Context(), b.test); err == nil {
		t.Error("it has passed")
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != mostDetailLines+3 || lines[0] != "good: failed" || lines[1] != "  … 1499505 bytes before this are left out" || lines[101] != "  AssertionError: no" {
		t.Errorf("%d lines: %.200s", len(lines), &out)
	}
	if text := lastOf(strings.Repeat("ü", mostDetail)); len(text) > mostDetail+100 || !utf8.ValidString(text) {
		t.Errorf("%d bytes of one line", len(text))
	}
}

// TestPluginThatHangs: its interpreter is killed when who waits has gone.
func TestPluginThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := benchOf(t, &bytes.Buffer{}, &sessions.Equipment{}, nil)
	done := make(chan error)
	go func() { done <- b.each(ctx, b.check) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestChoosePlugins(t *testing.T) {
	set := plugins.Set{Plugins: []plugins.Plugin{{Name: "a"}, {Name: "b"}}}
	chosen, err := choose(set, []string{"b"})
	if err != nil || len(chosen) != 1 || chosen[0].Name != "b" {
		t.Errorf("%+v %v", chosen, err)
	}
	if _, err := choose(set, []string{"c"}); err == nil || err.Error() != `there is no plugin "c"; there are: a, b` {
		t.Error(err)
	}
}
