package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// FuzzUnpackZip and FuzzUnpackTar unpack anything, and look at what came of it.
func FuzzUnpackZip(f *testing.F) {
	f.Add(zipped(f, file("a/x", "1"), symlink("a/l", ".."), file("b.zip", string(zipped(f, file("y", "2"))))))
	f.Add(zipped(f, file("../x", "1")))
	f.Fuzz(func(t *testing.T, data []byte) { unpackAnything(t, "a.zip", data) })
}

func FuzzUnpackTar(f *testing.F) {
	f.Add(tarred(f, folder("d/e/"), symlink("d/e/up", "../.."), symlink("out", "d/e/up/.."), file("x", "1"), hardlink("y", "x")))
	f.Add(tarred(f, symlink("l", "/tmp"), file("l/x", "1")))
	f.Fuzz(func(t *testing.T, data []byte) { unpackAnything(t, "a.tar", data) })
}

// unpackAnything fails when more is written than the limits allow, when a link
// leads out, or when an error leaves something.
func unpackAnything(t *testing.T, name string, data []byte) {
	dir := t.TempDir()
	source := filepath.Join(dir, name)
	must(t, os.WriteFile(source, data, 0o600))
	limits := Limits{Unpacked: 1 << 20, Entries: 50, Ratio: 50, RatioFrom: 100_000, Depth: 3}
	p, err := NewPlan([]string{source}, Options{Dir: filepath.Join(dir, "w"), Limits: limits})
	must(t, err)
	_, failed := p.Prepare(t.Context())
	found := tree(t, dir)
	insist(t, failed == nil || len(found) == 2+len(emptyWorkspace), "%v; left behind: %q", failed, found)
	if failed != nil {
		return
	}
	root, err := filepath.EvalSymlinks(p.Input())
	must(t, err)
	var bytes int64
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(path)
			expect(t, err == nil && within(root, target), "%s leads to %s (%v)", path, target, err)
		}
		return nil
	})
	expect(t, err == nil && bytes <= limits.Unpacked, "%d bytes, %v", bytes, err)
}
