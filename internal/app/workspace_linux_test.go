package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"understudy/internal/config"
	"understudy/internal/sandbox"
)

// TestRootGivesAWorkspaceToItsSessions has one that is empty, one by way of a link, and
// one that the operator has given to somebody already.
func TestRootGivesAWorkspaceToItsSessions(t *testing.T) {
	if os.Geteuid() != 0 || sandbox.SharedUser() == 0 {
		t.Skip("only root gives directories away")
	}
	open := func(dir string) string {
		c := dataConfig(t, false)
		c.Serve.Workspace, c.Serve.Sandbox = dir, config.SandboxStandard
		return mustOpenWorkspace(t, c, slog.New(slog.DiscardHandler)).plan.Dir()
	}
	dir, given, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "link")
	must(t, errors.Join(os.Symlink(dir, link), os.Chown(given, 12345, 12345)))
	if got := open(link); got != dir {
		t.Error(got)
	}
	open(given)
	for path, want := range map[string]uint32{link: 0, dir: uint32(sandbox.SharedUser()), given: 12345} {
		info, err := os.Lstat(path)
		must(t, err)
		got := info.Sys().(*syscall.Stat_t).Uid
		expect(t, got == want, "%s belongs to %d, not %d", path, got, want)
	}
}

// TestAWorkspaceFromBeforeTheSandbox is refused as the server starts, until all of it has
// been given to those who work in it then.
func TestAWorkspaceFromBeforeTheSandbox(t *testing.T) {
	if os.Geteuid() != 0 || sandbox.SharedUser() == 0 {
		t.Skip("only root runs code as somebody else")
	}
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	must(t, errors.Join(os.Mkdir(input, 0o700), os.WriteFile(filepath.Join(input, "a.csv"), nil, 0o600)))
	refused := func(user int) {
		t.Helper()
		err := GiveToSessions(dir, slog.New(slog.DiscardHandler))
		want := fmt.Sprintf("chown -R %d:%d %s", user, user, dir)
		expect(t, err != nil && strings.Contains(err.Error(), want), "%v does not say %q", err, want)
	}
	refused(sandbox.SharedUser())
	if err := os.Chown(dir, 12345, 12345); err != nil { // which is not enough
		t.Fatal(err)
	}
	refused(12345)
	must(t, os.Chown(input, 12345, 12345))
	must(t, GiveToSessions(dir, slog.New(slog.DiscardHandler)))
}
