package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
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
		return mustOpenWorkspace(t, c, slog.New(slog.DiscardHandler)).dir()
	}
	dir, given, link := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(dir, link), os.Chown(given, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if got := open(link); got != dir {
		t.Error(got)
	}
	open(given)
	for path, want := range map[string]uint32{link: 0, dir: uint32(sandbox.SharedUser()), given: 12345} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%s belongs to %d, not %d", path, got, want)
		}
	}
}
