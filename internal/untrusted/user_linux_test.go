package untrusted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestAUserDoesWhatTheCodeMayDo is about a directory of root's for all, in which there
// are files of root's, and of the user as whom the code runs.
func TestAUserDoesWhatTheCodeMayDo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"secret": 0o600, "open": 0o644, "own": 0o600} {
		write(t, dir, name, name)
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	if err := errors.Join(
		os.Chown(filepath.Join(dir, "own"), nobody, nobody), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777),
		os.Mkdir(filepath.Join(dir, "closed"), 0o700), os.Mkdir(filepath.Join(dir, "readable"), 0o755),
	); err != nil {
		t.Fatal(err)
	}
	root := openRoot(t, dir)
	user := OwnerOf(statOf(t, filepath.Join(dir, "own")))
	for name, want := range map[string]error{"secret": fs.ErrPermission, "open": nil, "own": nil, "closed/x": fs.ErrPermission} {
		err := user.Do(func() error {
			file, _, err := OpenFile(root, name)
			_ = file.Close()
			return err
		})
		expect(t, errors.Is(err, want), "reading %s: %v", name, err)
	}
	whatever := func(fs.FileInfo) error { return nil }
	for name, want := range map[string]error{
		"own": nil, "new": nil, "d/new": nil, "readable/x": fs.ErrPermission, "readable/d/x": fs.ErrPermission, "closed/x": fs.ErrPermission,
	} {
		err := user.Do(func() error {
			_, err := WriteFile(root, name, []byte("x"), whatever)
			return err
		})
		expect(t, errors.Is(err, want), "writing %s: %v", name, err)
	}
	for name, want := range map[string]int{"own": nobody, "new": nobody, "d": nobody, "d/new": nobody, "open": 0} {
		uid, gid := idsOf(statOf(t, filepath.Join(dir, name)))
		expect(t, uid == want && gid == want, "%s belongs to %d:%d", name, uid, gid)
	}
	if _, err := root.Stat("secret"); err != nil { // the thread that gave up root's rights was another
		t.Error(err)
	}
	write(t, dir, "closed/servers", "")
	must(t, Reclaim(root, "d"))
	uid, _ := idsOf(statOf(t, filepath.Join(dir, "d")))
	expect(t, uid == 0 && statOf(t, filepath.Join(dir, "d")).Mode().Perm() == 0o700, "it belongs to %d", uid)
}
