package app

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/config"
	"understudy/internal/transport"
)

// policed is a configuration of serve with flags, its rules in a file.
func policed(t *testing.T, rules string, flags ...string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	must(t, os.WriteFile(path, []byte(rules), 0o600))
	c, err := config.Parse(config.Source{Args: append([]string{"serve", "--policy", path}, flags...)})
	must(t, err)
	return c
}

func TestMistakesInAPolicyAreThoseOfTheSettings(t *testing.T) {
	_, err := OpenPolicy(policed(t, "blocked_modules: os"), quiet())
	var usage *config.UsageError
	expect(t, errors.As(err, &usage) && strings.Contains(err.Error(), "policy.yaml, line 1: blocked_modules"), "%+v", err)
	_, err = Open(policed(t, "a: b", "--data-dir", t.TempDir()), quiet())
	expect(t, errors.As(err, &usage), "a server was opened: %v", err)
}

func TestRulesForNobody(t *testing.T) {
	var log bytes.Buffer
	source, err := OpenPolicy(policed(t, "principals: {ci: {allowed_modules: []}}", "--block-modules", "socket"), slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	got := source.Book().Rules("").BlockedModules
	expect(t, len(got) == 1 && got[0] == "socket", "the flag came to nothing: %v", got)
	expect(t, strings.Contains(log.String(), "nobody authenticates"), "the log:\n%s", log.String())
}

func TestPrincipalOfACall(t *testing.T) {
	ctx := transport.WithCaller(t.Context(), transport.Caller{Client: "principal:ci", Principal: "ci"})
	got := principalOf(ctx, "principal:other")
	expect(t, got == "ci", "the caller is %q", got)
	got = principalOf(t.Context(), "principal:other")
	expect(t, got == "", "who did not authenticate is %q", got)
}
