package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestListPlugins(t *testing.T) {
	dir := pluginDir(t, pluginFiles)
	list := func(args ...string) string {
		t.Helper()
		c := configOf(t, append([]string{"plugins", "list", "--plugins"}, args...)...)
		registry, err := plugins.Open(c.Plugins.Dir, plugins.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := listPlugins(c, registry.Set(), &out); err != nil {
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

// benchOf is a bench whose interpreters do what run says.
func benchOf(t *testing.T, run func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error)) *bench {
	t.Helper()
	registry, err := plugins.Open(pluginDir(t, pluginFiles), plugins.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	set := registry.Set()
	return &bench{set: set, chosen: set.Plugins, starter: fakeStarter{run}, close: func() {}}
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
			return sessions.Outcome{Exception: &sessions.Exception{Traceback: "Traceback:\n  line 1\nPluginError: no\n"}}, nil
		}, broken + "good: broken\n  loading\n  Traceback:\n    line 1\n  PluginError: no\n" + restOfBench, 3},
		"crashes": {func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error) {
			return sessions.Outcome{}, &sessions.CrashError{Reason: "killed by SIGSEGV"}
		}, broken + "good: broken\n  killed by SIGSEGV\n" + restOfBench, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := benchOf(t, test.run).each(t.Context(), &out, (*bench).check)
			if want := fmt.Sprintf("%d of 4 plugins can't be used as they are", test.bad); err == nil || err.Error() != want {
				t.Errorf("error %v, not %s", err, want)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTestsOfPlugins(t *testing.T) {
	for answer, want := range map[string]string{"false": "good: has no test\n", "true": "good: passed, in 1.5s\n", "null": "good: passed, in 1.5s\n"} {
		var out bytes.Buffer
		b := benchOf(t, func(_ context.Context, r sessions.Request, _ sessions.Sink) (sessions.Outcome, error) {
			return sessions.Outcome{OK: true, ExecTime: 1500 * time.Millisecond, Result: json.RawMessage(answer)}, nil
		})
		b.chosen = b.set.Ready()
		if err := b.each(t.Context(), &out, (*bench).test); err != nil || out.String() != want {
			t.Errorf("%s: %v %q", answer, err, &out)
		}
	}
}

// TestLongDetails: of much output its end is shown, which has the exception.
func TestLongDetails(t *testing.T) {
	var out bytes.Buffer
	b := benchOf(t, func(_ context.Context, _ sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
		sink.Output(sessions.Stdout, bytes.Repeat([]byte("said\n"), 300_000))
		return sessions.Outcome{Exception: &sessions.Exception{Traceback: "AssertionError: no\n"}}, nil
	})
	b.chosen = b.set.Ready()
	if err := b.each(t.Context(), &out, (*bench).test); err == nil {
		t.Error("it has passed")
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); lines[0] != "good: failed" || lines[1] != "  … 1484018 bytes before this are left out" || lines[len(lines)-1] != "  AssertionError: no" {
		t.Errorf("%d lines: %.200s", len(lines), &out)
	}
	if text := lastOf(strings.Repeat("ü", mostDetail)); len(text) > mostDetail+100 || !utf8.ValidString(text) {
		t.Errorf("%d bytes of one line", len(text))
	}
}

// TestPluginThatHangs: its interpreter is killed when who waits has gone.
func TestPluginThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := benchOf(t, nil)
	done := make(chan error)
	go func() { done <- b.each(ctx, io.Discard, (*bench).check) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestChoosePlugins(t *testing.T) {
	set := plugins.Set{Plugins: []plugins.Plugin{{Name: "a"}, {Name: "b"}}}
	chosen, err := choosePlugins(set, []string{"b"})
	if err != nil || len(chosen) != 1 || chosen[0].Name != "b" {
		t.Errorf("%+v %v", chosen, err)
	}
	if _, err := choosePlugins(set, []string{"c"}); err == nil || err.Error() != `there is no plugin "c"; there are: a, b` {
		t.Error(err)
	}
}
