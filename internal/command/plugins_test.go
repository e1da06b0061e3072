package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"understudy/internal/plugins"
	"understudy/sessions"
)

// benchOf is a bench whose interpreters do what run says.
func benchOf(t *testing.T, run func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error)) *bench {
	t.Helper()
	good := []plugins.Plugin{{Name: "good", State: plugins.Ready, Callable: true, Source: "source"}}
	return &bench{set: plugins.Set{Plugins: good}, chosen: good, starter: fakeStarter{run}, close: func() {}}
}

func TestTestsOfPlugins(t *testing.T) {
	for answer, want := range map[string]string{"false": "good: has no test\n", "true": "good: passed, in 1.5s\n", "null": "good: passed, in 1.5s\n"} {
		var out bytes.Buffer
		b := benchOf(t, func(_ context.Context, r sessions.Request, _ sessions.Sink) (sessions.Outcome, error) {
			return sessions.Outcome{OK: true, ExecTime: 1500 * time.Millisecond, Result: json.RawMessage(answer)}, nil
		})
		err := b.each(t.Context(), &out, (*bench).test)
		expect(t, err == nil && out.String() == want, "%s: %v %q", answer, err, &out)
	}
}

// TestLongDetails: of much output its end is shown, which has the exception.
func TestLongDetails(t *testing.T) {
	var out bytes.Buffer
	b := benchOf(t, func(_ context.Context, _ sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
		sink.Output(sessions.Stdout, bytes.Repeat([]byte("said\n"), 300_000))
		return sessions.Outcome{Exception: &sessions.Exception{Traceback: "AssertionError: no\n"}}, nil
	})
	err := b.each(t.Context(), &out, (*bench).test)
	expect(t, err != nil, "it has passed")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	expect(t, lines[0] == "good: failed" && lines[1] == "  … 1484018 bytes before this are left out" && lines[len(lines)-1] == "  AssertionError: no",
		"%d lines: %.200s", len(lines), &out)
	text := lastOf(strings.Repeat("ü", mostDetail))
	expect(t, len(text) <= mostDetail+100 && utf8.ValidString(text), "%d bytes of one line", len(text))
}

// TestPluginThatHangs: its interpreter is killed when who waits has gone.
func TestPluginThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := benchOf(t, nil)
	done := make(chan error)
	go func() { done <- b.each(ctx, io.Discard, (*bench).check) }()
	cancel()
	err := <-done
	expect(t, errors.Is(err, context.Canceled), "%+v", err)
}

// TestNoneIsReady: no Python is looked for, which would be in vain here.
func TestNoneIsReady(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"off.yaml": "name: off\ndescription: It is off.\nenabled: false\n", "off.py": ""} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var out, problems bytes.Buffer
	must(t, ListPlugins(t.Context(), configOf(t, "plugins", "list", "--plugins", dir, "--python", "/nowhere"), &out, &problems))
	got := out.String() + problems.String()
	expect(t, got == "off  disabled  It is off.\n", "%+v", got)
}
