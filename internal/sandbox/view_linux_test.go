package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What lies below something that is hidden is mounted there; above all what another
// user than root could not reach.
func TestView(t *testing.T) {
	base := t.TempDir()
	closed, home, library := filepath.Join(base, "closed"), filepath.Join(base, "closed", "home"), filepath.Join(base, "closed", "library")
	for _, dir := range []string{filepath.Join(home, "tmp"), library} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	v := newView(generous, nil, []string{library, filepath.Join(base, "missing")}, []string{home}, filepath.Join(home, "tmp"), 0)
	for _, want := range []bind{{filepath.Join(home, "tmp"), "/tmp", true}, {library, library, false}, {home, home, true}} {
		if !slices.Contains(v.Binds, want) {
			t.Errorf("%v is not bound: %v", want, v.Binds)
		}
	}
	if v.Binds[0][1] != "/tmp" {
		t.Errorf("%v comes before /tmp, on which others may be mounted", v.Binds[0])
	}
	if !slices.Contains(v.Covers, "/root") {
		t.Errorf("root's home is seen: %v", v.Covers)
	}
	if !within(home, append(v.Covers, "/tmp", "/dev/shm")) {
		t.Errorf("%s, which only root may search, is in the way: %v", closed, v.Covers)
	}
}

func TestBetween(t *testing.T) {
	write, read := []string{"/p", "/p/r/w"}, []string{"/p/r", "/p/a/b/r", "/p/r/c/d", "/p/r/w/e/r"}
	for path, want := range map[string][]string{
		"/p/r": {}, "/p/a/b/r": {"/p/a/b", "/p/a"}, "/p/r/c/d": nil, "/p/r/w/e/r": {"/p/r/w/e"}, "/elsewhere": nil,
	} {
		above, changeable := between(path, write, read)
		if !slices.Equal(above, want) || changeable != (want != nil) {
			t.Errorf("%s: got %q, %v", path, above, changeable)
		}
	}
}

func TestRightsByVersion(t *testing.T) {
	for version, words := range map[int]int{1: 1, 3: 1, 4: 2, 6: 3, 7: 3} {
		l := newLandlock(version, []string{"/usr"}, []string{"/dev/null"}, []string{"/tmp"}, nil)
		if l.Words != words {
			t.Errorf("version %d: %d words", version, l.Words)
		}
		for _, r := range l.Rules {
			if rights := r[1].(uint64); rights&^l.Files != 0 || rights == 0 {
				t.Errorf("version %d: %v has rights that the kernel doesn't know", version, r)
			}
		}
	}
}
