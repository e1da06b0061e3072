package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A directory is given away, and what is in it is not looked at.
func TestAdmit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	w, err := New(Settings{Mode: Standard}, generous)
	must(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, w.Admit("family", dir))
	owner := ownerOf(t, dir)
	expect(t, owner != 0 && ownerOf(t, file) == 0, "the directory belongs to %d, the file to %d", owner, ownerOf(t, file))
	must(t, w.Admit("another", t.TempDir()))
	expect(t, w.families.all["another"].user != owner, "two families have one user")
}

// Sessions that share a directory are whom it belongs to, and nobody may be root.
func TestSharedDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has users to hand out")
	}
	dir := t.TempDir()
	if _, err := New(Settings{Mode: Standard, Shared: dir}, generous); err == nil || !strings.Contains(err.Error(), "chown") {
		t.Errorf("a directory of root's: got %v", err)
	}
	must(t, os.Lchown(dir, 4242, 0))
	if _, err := New(Settings{Mode: Standard, Shared: dir}, generous); err == nil || !strings.Contains(err.Error(), "chgrp") {
		t.Errorf("a directory of root's group: got %v", err)
	}
	must(t, os.Lchown(dir, 4242, 5353))
	w, err := New(Settings{Mode: Standard, Shared: dir}, generous)
	must(t, err)
	for _, family := range []string{"one", "two"} {
		must(t, w.Admit(family))
		got := w.families.all[family].account
		expect(t, got == (account{4242, 5353}), "%s runs as %v", family, got)
	}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
