package app

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

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
