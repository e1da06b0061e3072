//go:build unix

package pythonenv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhoseEnvironment: root runs its own environments and those of the working directory's
// owner, as in a container, and none that others have put above it.
func TestWhoseEnvironment(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const owner, stranger = 4242, 4343
	give := func(user int, paths ...string) func(root string) error {
		return func(root string) (err error) {
			for _, path := range paths {
				err = errors.Join(err, os.Lchown(filepath.Join(root, path), user, -1))
			}
			return err
		}
	}
	all := []string{".venv", ".venv/bin", ".venv/bin/python"}
	for name, test := range map[string]struct {
		change func(root string) error
		want   string // "" for one that is run
	}{
		"root's":                    {give(stranger), ""},
		"a stranger's":              {give(stranger, all...), "it belongs to another user (4343); name it with --python to use it"},
		"of the directory's owner":  {give(owner, append(all, "a")...), ""},
		"of another than the owner": {give(stranger, append(all, ".git")...), "another user (4343)"},
		"a stranger's interpreter":  {give(stranger, ".venv/bin/python"), "another user (4343)"},
		"a stranger's link": {func(root string) error {
			return errors.Join(os.Rename(filepath.Join(root, ".venv"), filepath.Join(root, "elsewhere")),
				os.Symlink("elsewhere", filepath.Join(root, ".venv")), give(stranger, ".venv")(root))
		}, "another user (4343)"},
		"open to everybody": {func(root string) error {
			return errors.Join(give(owner, append(all, "a")...)(root), os.Chmod(filepath.Join(root, ".venv", "bin"), 0o777))
		}, "every user may write to "},
		"ours where there are no permissions": {func(root string) error { return os.Chmod(filepath.Join(root, ".venv"), 0o777) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := withoutLinks(t.TempDir())
			layOut(t, root, ".git/", ".venv 3.12.1", "a/")
			if err := test.change(root); err != nil {
				t.Fatal(err)
			}
			found, err := OfProject(t.Context(), Options{Project: filepath.Join(root, "a")})
			var missing *NotFoundError
			if test.want == "" && err != nil || test.want != "" && (!errors.As(err, &missing) || !strings.Contains(missing.Passed[0].Reason, test.want)) {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// TestPassesThrough: a link in a directory that code writes to is code's, wherever it leads.
func TestPassesThrough(t *testing.T) {
	root := withoutLinks(t.TempDir())
	layOut(t, root, "work/bin/python", "safe/bin/python", "safe/deep/er/")
	for link, target := range map[string]string{
		"work/link": "../safe/bin/python", // in it, leads out
		"safe/in":   "../work/bin",        // leads in
		"safe/via":  "../work/link",       // leads through it
		"safe/side": "bin",
		"far":       "safe/deep/er", // after which .. is safe/deep
		"alias":     "work",
		"loop":      "loop",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"work": true, "work/bin/python": true, "work/link": true, "work/gone": true, "work/../safe/bin/python": true,
		"safe/bin/python": false, "safe/side/python": false, "safe/in/python": true, "safe/via": true,
		"far/../../bin/python": false, "far/../../../work/bin/python": true, "alias/bin/python": true, "loop": true, "workshop": false,
	} {
		for _, directory := range []string{"work", "alias"} {
			if got := passesThrough(root+"/"+path, []string{filepath.Join(root, directory)}); got != want {
				t.Errorf("%s, %s: %v", path, directory, got)
			}
		}
	}
}
