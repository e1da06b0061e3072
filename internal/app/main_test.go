package app

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"understudy/internal/check"
	"understudy/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func configOf(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(config.Source{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// opened is a server whose sessions are behind the wall.
func opened(t *testing.T, args ...string) *App {
	t.Helper()
	a, err := Open(serveConfig(t, append([]string{"--transport", "http", "--sandbox", "standard", "--no-journal"}, args...)...), quiet())
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	return a
}

// atHome gives the test a home and a current directory of its own.
func atHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	t.Chdir(home)
	return home
}

var must, expect = check.Must, check.Expect

// errOf is the error alone of what a call returned.
func errOf[T any](_ T, err error) error { return err }
