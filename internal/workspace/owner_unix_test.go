//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestRootPreparesTheWorkspaceOfAnother has a directory that belongs to another user
// than the server's.
func TestRootPreparesTheWorkspaceOfAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	outside := filepath.Join(t.TempDir(), "outside")
	dir := files(t, map[string]string{"x": "1", "d/y": "2"})
	must(t, errors.Join(os.WriteFile(outside, nil, 0o600), os.Symlink("d", filepath.Join(dir, "link"))))
	ws := t.TempDir()
	own := filepath.Join(ws, ownName)
	must(t, errors.Join(os.Chown(ws, nobody, nobody), os.Mkdir(own, 0o700), os.Link(outside, filepath.Join(ws, stampName))))
	mustPrepare(t, mustPlan(t, Options{Dir: ws}, dir))
	for _, name := range []string{WorkingName, InputName} {
		err := filepath.WalkDir(filepath.Join(ws, name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			uid, gid := idsOf(info)
			expect(t, uid == nobody && gid == nobody, "%s belongs to %d:%d", path, uid, gid)
			return nil
		})
		expect(t, err == nil, "%v", err)
	}
	for _, path := range []string{own, dir, filepath.Join(dir, "x"), outside} {
		info, err := os.Lstat(path)
		must(t, err)
		uid, _ := idsOf(info)
		expect(t, uid == 0, "%s belongs to %d", path, uid)
	}
	if text, err := os.ReadFile(outside); err != nil || len(text) > 0 {
		t.Errorf("what only had another name there holds %q, %v", text, err)
	}
}
