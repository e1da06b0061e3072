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
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.Chmod(closed, 0o700))
	w, err := New(Settings{Mode: Standard, Read: []string{library, filepath.Join(base, "missing")}}, generous)
	must(t, err)
	p, err := w.Profile("f", home, filepath.Join(home, "work"))
	must(t, err)
	v := p.Base.View
	if want := []bind{{filepath.Join(home, "tmp"), "/tmp", true}, {home, home, true}}; !slices.Equal(p.Binds, want) {
		t.Errorf("its own binds are %v", p.Binds)
	}
	if want := []bind{{library, library, false}}; !slices.Equal(v.Binds, want) {
		t.Errorf("the binds of all are %v", v.Binds)
	}
	expect(t, slices.Contains(v.Covers, "/root"), "root's home is seen: %v", v.Covers)
	expect(t, within(home, append(v.Covers, "/tmp", "/dev/shm")), "%s, which only root may search, is in the way: %v", closed, v.Covers)
}

// A worker that was forked ahead has what its session asks for, until a directory is
// another one.
func TestAhead(t *testing.T) {
	base := t.TempDir()
	homes, data := filepath.Join(base, "homes"), filepath.Join(base, "data")
	w, err := New(Settings{Mode: Standard, Read: []string{data}}, generous)
	must(t, err)
	expect(t, w.Ahead() == nil, "a view is made of no homes")
	w.ExpectHomes(homes)
	expect(t, w.Ahead() == nil, "a view is made of homes that are not there")
	profile := func(workdir string) *Base {
		t.Helper()
		p, err := w.Profile("f", filepath.Join(homes, "one"), workdir)
		must(t, err)
		return p.Base
	}
	must(t, os.MkdirAll(filepath.Join(homes, "one", "work"), 0o755))
	must(t, os.Mkdir(data, 0o755))
	ahead := w.Ahead()
	expect(t, ahead.Same(profile(filepath.Join(homes, "one", "work"))), "what is put into force ahead is not what a session asks for")
	must(t, os.Mkdir(filepath.Join(base, "elsewhere"), 0o755))
	expect(t, !ahead.Same(profile(filepath.Join(base, "elsewhere"))) && !ahead.Same(nil), "a session that works elsewhere has the view of the others")
	must(t, os.Rename(data, data+"-before"))
	must(t, os.Mkdir(data, 0o755))
	expect(t, !ahead.Same(profile(filepath.Join(homes, "one", "work"))), "a directory that has taken the place of another is not told from it")
}

func TestBetween(t *testing.T) {
	write, read := []string{"/p", "/p/r/w"}, []string{"/p/r", "/p/a/b/r", "/p/r/c/d", "/p/r/w/e/r"}
	for path, want := range map[string][]string{
		"/p/r": {}, "/p/a/b/r": {"/p/a/b", "/p/a"}, "/p/r/c/d": nil, "/p/r/w/e/r": {"/p/r/w/e"}, "/elsewhere": nil,
	} {
		above, changeable := between(path, write, read)
		expect(t, slices.Equal(above, want) && changeable == (want != nil), "%s: got %q, %v", path, above, changeable)
	}
}

func TestRightsByVersion(t *testing.T) {
	for version, words := range map[int]int{1: 1, 3: 1, 4: 2, 6: 3, 7: 3} {
		l := newLandlock(version, []string{"/usr"}, []string{"/dev/null"}, []string{"/tmp"}, nil)
		expect(t, l.Words == words, "version %d: %d words", version, l.Words)
		for _, r := range l.Rules {
			rights := r[1].(uint64)
			expect(t, rights&^l.Files == 0 && rights != 0, "version %d: %v has rights that the kernel doesn't know", version, r)
		}
	}
}
