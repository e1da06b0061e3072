package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What is beside a secret is given, and it is not, nor what is named after it.
func TestWithoutSecrets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "our/hosts", "our/key.pem", "our/key.pem~", "our/data/journal", "data-sets/a"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("our/key.pem", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
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
