package app

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadOnlyDirectory starts in a file system that root can't write to either.
func TestReadOnlyDirectory(t *testing.T) {
	home, dir := atHome(t), t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Skip("nothing can be mounted: ", err)
	}
	t.Cleanup(func() {
		must(t, unix.Unmount(dir, unix.MNT_DETACH))
	})
	t.Chdir(dir)
	p := projectDir(serveConfig(t))
	expect(t, p.dir == filepath.Join(home, "understudy") && strings.HasSuffix(p.unfit, dir+", which can't be written to"), "%+v", p)
}
