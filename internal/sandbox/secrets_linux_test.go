package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// What is beside a secret is given, and it is not, nor what is named after it.
func TestWithoutSecrets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "our/hosts", "our/key.pem", "our/key.pem~", "our/data/journal", "data-sets/a"} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o600))
	}
	must(t, os.Symlink("our/key.pem", filepath.Join(dir, "link")))
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	kept, list := without(append([]string{"/usr"}, dir), at("our/key.pem", "our/data"))
	if want := append([]string{"/usr"}, at("data-sets", "one", "our/hosts")...); !slices.Equal(kept, want) {
		t.Errorf("given are %q, not %q", kept, want)
	}
	if want := at("", "our"); !slices.Equal(list, []string{dir, want[1]}) {
		t.Errorf("listed are %q", list)
	}
	if kept, list := without([]string{dir}, []string{dir}); kept != nil || list != nil {
		t.Errorf("of what is secret itself %q is given, %q is listed", kept, list)
	}
}

// Kubernetes renews a secret by a link to another directory, and certificates are renewed
// in the same way: what is there afterwards is a secret, too.
func TestRenewedSecrets(t *testing.T) {
	dir := resolved(t.TempDir())
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	renew := func(to string) {
		must(t, os.Mkdir(at(to), 0o755))
		must(t, os.WriteFile(at(to, "tokens"), nil, 0o600))
		must(t, os.Symlink(to, at("..new")))
		must(t, os.Rename(at("..new"), at("..data")))
	}
	renew("..1")
	must(t, os.Symlink("..data/tokens", at("tokens")))
	must(t, os.WriteFile(at("hosts"), nil, 0o644))
	w, err := New(Settings{Mode: Standard, Secrets: []string{at("tokens")}}, generous)
	must(t, err)
	w.system.read = []string{dir}
	before := w.base(dir, nil)
	renew("..2")
	after := w.base(dir, nil)
	expect(t, !before.Same(after), "who has read the rules of before is taken for one who has those of now")
	for _, path := range []string{at("..1", "tokens"), at("..2", "tokens"), at("hosts")} {
		read := slices.ContainsFunc(after.Landlock.Rules, func(r rule) bool {
			return r[1].(uint64)&unix.LANDLOCK_ACCESS_FS_READ_FILE != 0 && within(path, []string{r[0].(string)})
		})
		expect(t, read == (path == at("hosts")), "may %s be read: %v", path, read)
	}
}
