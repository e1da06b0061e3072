//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLinksOfDirectories says what becomes of links in a directory that is copied.
func TestLinksOfDirectories(t *testing.T) {
	outside := files(t, map[string]string{"o.csv": "out", "dir/p": "out2", "o.zip": string(zipped(t, file("q", "3")))})
	dir := files(t, map[string]string{"x": "1", "d/y": "2", "a.zip": string(zipped(t, file("z", "4")))})
	ws := filepath.Join(t.TempDir(), "w")
	for name, target := range map[string]string{
		"inside": "d/y", "inside-dir": "d", "d/up": "..", "absolute": filepath.Join(dir, "x"),
		"out.csv": filepath.Join(outside, "o.csv"), "out-dir": filepath.Join(outside, "dir"), "out.zip": filepath.Join(outside, "o.zip"),
		"archive.zip": "a.zip", "nowhere": "missing", "round": "round", "device": os.DevNull,
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	// Two that lead round by way of the outside, and one into the workspace.
	for link, target := range map[string]string{filepath.Join(outside, "dir", "again"): outside, filepath.Join(dir, "ws"): ws} {
		must(t, os.Symlink(target, link))
	}
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	p := mustPlan(t, Options{Dir: ws}, dir)
	made := mustPrepare(t, p)
	got := tree(t, p.Input())
	for _, want := range []string{
		"inside->d/y", "inside-dir->d", "d/up->..", "absolute->x", "out.csv=out", "out-dir/p=out2", "out/q=3", "archive/z=4", "a/z=4", "x=1",
		"out-dir/again/o.csv=out",
	} {
		expect(t, slices.Contains(got, want), "input/ lacks %q: %q", want, got)
	}
	for _, left := range []string{"nowhere", "round", "device", "pipe", "ws", "out-dir/again/dir/again"} {
		if slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, left) && line != "round" }) {
			t.Errorf("input/ has %s: %q", left, got)
		}
	}
	notes := strings.Join(made.Notes, "\n")
	expect(t, contains(notes, "nowhere", "a pipe", "a device", "in a circle", "link out of the data"), "notes %s", notes)
}

// TestLinkToBlob unpacks an archive as the link to it is called, whatever that leads to is.
func TestLinkToBlob(t *testing.T) {
	blobs := files(t, map[string]string{"abc123": string(zipped(t, file("x", "1"))), "b.tar": string(zipped(t, file("y", "2")))})
	dir := t.TempDir()
	for name, blob := range map[string]string{"data.zip": "abc123", "more.zip": "b.tar"} {
		must(t, os.Symlink(filepath.Join(blobs, blob), filepath.Join(dir, name)))
	}
	for _, link := range []bool{false, true} {
		p := mustPlan(t, Options{Dir: filepath.Join(t.TempDir(), "w"), Link: link}, dir)
		mustPrepare(t, p)
		holds(t, p, "data/", "data/x=1", "more/", "more/y=2")
	}
	p, _, err := prepare(t, filepath.Join(dir, "data.zip"))
	must(t, err)
	holds(t, p, "data/", "data/x=1")
}

// TestBackslashesInNames: in an archive with slashes they are a part of names.
func TestBackslashesInNames(t *testing.T) {
	_, p, _, err := prepareArchive(t, "a.zip", zipped(t, file("d/x", "1"), file(`a\b`, "2")))
	must(t, err)
	holds(t, p, "a/", `a/a\b=2`, "a/d/", "a/d/x=1")
}

// TestNamesThatAreNoUTF8 unpacks archives with them where the system has such names.
func TestNamesThatAreNoUTF8(t *testing.T) {
	inner := string(zipped(t, file("z", "2")))
	if err := os.Mkdir(filepath.Join(t.TempDir(), "caf\xe9"), 0o700); err != nil {
		t.Skip("the system takes no such names")
	}
	_, p, _, err := prepareArchive(t, "a.tar", tarred(t, file("caf\xe9/x.csv", "1"), file("caf\xe9/y.zip", inner)))
	must(t, err)
	holds(t, p, "a/", "a/caf\xe9/", "a/caf\xe9/x.csv=1", "a/caf\xe9/y/", "a/caf\xe9/y/z=2")
}

// TestLinksThatMultiply has directories outside with two links each to the next one.
func TestLinksThatMultiply(t *testing.T) {
	outside, dir := t.TempDir(), files(t, map[string]string{"x": "1"})
	link := func(target, name string) {
		t.Helper()
		must(t, os.Symlink(target, name))
	}
	for i := range 24 {
		level := filepath.Join(outside, strconv.Itoa(i))
		must(t, os.Mkdir(level, 0o700))
		next := filepath.Join(outside, strconv.Itoa(i+1))
		link(next, filepath.Join(level, "a"))
		link(next, filepath.Join(level, "b"))
	}
	link("/", filepath.Join(dir, "disk"))
	made := mustPrepare(t, mustPlan(t, Options{}, dir))
	expect(t, made.Files == 1 && contains(strings.Join(made.Notes, "\n"), "disk: is a link to /, which the data is in"), "%+v", made)
	must(t, os.Mkdir(filepath.Join(outside, "24"), 0o700))
	link(filepath.Join(outside, "0"), filepath.Join(dir, "graph"))
	_, _, err := prepare(t, dir)
	expect(t, err != nil && strings.Contains(err.Error(), "lead to more than 100 files"), "%v", err)
}

// TestChangeBehindLink is data that has changed where a link out of it leads.
func TestChangeBehindLink(t *testing.T) {
	outside, dir := files(t, map[string]string{"d/v.csv": "old"}), files(t, map[string]string{"x": "1"})
	must(t, os.Symlink(filepath.Join(outside, "d"), filepath.Join(dir, "d")))
	options := Options{Dir: filepath.Join(t.TempDir(), "w")}
	p := mustPlan(t, options, dir)
	mustPrepare(t, p)
	now := p.Progress()
	expect(t, now.Done == now.Total && now.Total == 4, "progress %+v", now)
	must(t, os.WriteFile(filepath.Join(outside, "d", "v.csv"), []byte("newer"), 0o600))
	_, err := mustPlan(t, options, dir).Prepare(t.Context())
	expect(t, err != nil && strings.Contains(err.Error(), "has changed since"), "%v", err)
}

// TestCopiedModes keeps modes but for what others may write, and the times of files.
func TestCopiedModes(t *testing.T) {
	dir := files(t, map[string]string{"d/loose": "1", "read-only": "2"})
	for name, mode := range map[string]os.FileMode{"d/loose": 0o777, "read-only": 0o444, "d": 0o777} {
		must(t, os.Chmod(filepath.Join(dir, name), mode))
		must(t, os.Chtimes(filepath.Join(dir, name), someTime, someTime))
	}
	p := mustPlan(t, Options{}, dir)
	mustPrepare(t, p)
	for name, want := range map[string]os.FileMode{"d/loose": 0o755, "read-only": 0o444, "d": 0o755 | os.ModeDir} {
		info, err := os.Stat(filepath.Join(p.Input(), name))
		if err != nil || info.Mode() != want || !info.IsDir() && !info.ModTime().Equal(someTime) {
			t.Errorf("%s: mode %v, time %v, %v; want %v", name, info.Mode(), info.ModTime(), err, want)
		}
	}
}
