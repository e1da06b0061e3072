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
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(config.Source{Args: append([]string{"serve", "--policy", path}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMistakesInAPolicyAreThoseOfTheSettings(t *testing.T) {
	_, err := OpenPolicy(policed(t, "blocked_modules: os"), quiet())
	var usage *config.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "policy.yaml, line 1: blocked_modules") {
		t.Error(err)
	}
	if _, err := Open(policed(t, "a: b", "--data-dir", t.TempDir()), quiet()); !errors.As(err, &usage) {
		t.Errorf("a server was opened: %v", err)
	}
}

func TestRulesForNobody(t *testing.T) {
	var log bytes.Buffer
	source, err := OpenPolicy(policed(t, "principals: {ci: {allowed_modules: []}}", "--block-modules", "socket"), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if got := source.Book().Rules("").BlockedModules; len(got) != 1 || got[0] != "socket" {
		t.Errorf("the flag came to nothing: %v", got)
	}
	if !strings.Contains(log.String(), "nobody authenticates") {
		t.Errorf("the log:\n%s", log.String())
	}
}

func TestPrincipalOfACall(t *testing.T) {
	ctx := transport.WithCaller(t.Context(), transport.Caller{Client: "principal:ci", Principal: "ci"})
	if got := principalOf(ctx, "principal:other"); got != "ci" {
		t.Errorf("the caller is %q", got)
	}
	if got := principalOf(t.Context(), "principal:other"); got != "" {
		t.Errorf("who did not authenticate is %q", got)
	}
}
