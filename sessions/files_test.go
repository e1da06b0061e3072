package sessions

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/sessions/output"
)

// withFiles returns a manager, the id of a session of me's, and the session's
// working directory with some files.
func withFiles(t *testing.T) (m *Manager, id, dir string) {
	t.Helper()
	m = newTestManager(t, echoes(), nil)
	id = mustRun(t, m, RunRequest{Code: "x"}).InterpreterID
	dir = m.sessions[id].dirs.Work
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\n", "sub/b.csv": "1,2\n", "binary": "a\x00b", "…/é.txt": "é",
		"long.txt": strings.Repeat("line\n", 1000), "../secret": "secret",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for link, target := range map[string]string{"in": "a.txt", "out": "../secret", "abroad": "/etc", "up": "..", "loop": "loop", "dangling": "none"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	return m, id, dir
}

var badPaths = map[string]string{ // path: words of the error
	"..": "inside", "../secret": "inside", "sub/../../secret": "inside", "/etc/passwd": "relative",
	"a\x00b": "NUL", "\xff": "UTF-8", strings.Repeat("x", 5000): "at most 4096",
	"out": "out of the working directory", "abroad/passwd": "out of the working directory", "up/secret": "out of the working directory",
}

func TestFilesAreRead(t *testing.T) {
	m, id, _ := withFiles(t)
	for _, test := range []struct {
		path string
		r    Range
		want string
		text bool
	}{
		{"a.txt", Range{}, "one\ntwo\n", true},
		{"./sub/../a.txt", Range{}, "one\ntwo\n", true},
		{"in", Range{}, "one\ntwo\n", true},
		{"…/é.txt", Range{}, "é", true},
		{"binary", Range{}, "a\x00b", false},
		{"a.txt", Range{From: 2}, "two\n", true},
		{"long.txt", Range{From: -1}, "line\n", true},
		{"a.txt", Range{Match: "w"}, "2: two\n", true},
	} {
		f, err := m.File(t.Context(), me, id, test.path, test.r, 100)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		got := string(f.Data)
		if f.Page != nil {
			got = f.Page.Text
		}
		expect(t, got == test.want && f.Text == test.text && !f.Modified.IsZero(), "%s: %q %+v", test.path, got, f.FileInfo)
	}
}

func TestFilesThatAreNotRead(t *testing.T) {
	m, id, dir := withFiles(t)
	read := func(path string, r Range) error {
		_, err := m.File(t.Context(), me, id, path, r, 100)
		return err
	}
	for path, words := range badPaths {
		wantCode(t, read(path, Range{}), CodeInvalid, words)
		wantCode(t, errOf(m.Stat(t.Context(), me, id, path)), CodeInvalid, words)
	}
	wantCode(t, read("none", Range{}), CodeNotFound, "none")
	wantCode(t, read("dangling", Range{}), CodeNotFound, "dangling")
	wantCode(t, read("loop", Range{}), CodeInvalid, "loop")
	wantCode(t, read("sub", Range{}), CodeInvalid, "directory", "files?path=sub")
	wantCode(t, read("long.txt", Range{}), CodeLimit, "5000 bytes", "100 bytes", "?from=")
	wantCode(t, read("binary", Range{From: 1}), CodeInvalid, "no text")
	wantCode(t, read("a.txt", Range{Lines: -1}), CodeInvalid, "lines")
	if makeFIFO(filepath.Join(dir, "pipe")) == nil {
		wantCode(t, read("pipe", Range{}), CodeInvalid, "no regular file")
	}
}

// TestLinesAreCountedFromTheEndOfWhatIsCountedWhole: of a longer file a line can't be named so.
func TestLinesAreCountedFromTheEndOfWhatIsCountedWhole(t *testing.T) {
	for size, said := range map[int64]bool{output.ScanBytes: true, output.ScanBytes + 1: false} {
		err := tooLarge(FileInfo{Size: size}, true, 1)
		expect(t, strings.Contains(err.Error(), "from=-100") == said, "%d bytes: %v", size, err)
	}
}

func TestDirectoriesAreListed(t *testing.T) {
	t.Parallel()
	m, id, dir := withFiles(t)
	listed, err := m.Files(t.Context(), me, id, "")
	must(t, err)
	kinds := map[string]string{}
	for _, entry := range listed.Entries {
		kinds[entry.Path] = entry.Kind
	}
	same(t, map[string]string{
		"a.txt": KindFile, "sub": KindDirectory, "binary": KindFile, "long.txt": KindFile, "…": KindDirectory,
		"in": KindLink, "out": KindLink, "abroad": KindLink, "up": KindLink, "loop": KindLink, "dangling": KindLink,
	}, kinds)
	listed, err = m.Files(t.Context(), me, id, "sub")
	expect(t, err == nil && len(listed.Entries) == 1 && listed.Entries[0].Path == "sub/b.csv" && listed.Entries[0].Size == 4, "%+v %v", listed, err)
	for path, words := range badPaths {
		wantCode(t, errOf(m.Files(t.Context(), me, id, path)), CodeInvalid, words)
	}
	wantCode(t, errOf(m.Files(t.Context(), me, id, "a.txt")), CodeInvalid, "not a directory")
	for i := range mostEntries + 5 {
		must(t, os.WriteFile(filepath.Join(dir, "sub", "f"+strings.Repeat("0", i%7)+string(rune('a'+i%26))+string(rune('α'+i/26))), nil, 0o600))
	}
	listed, err = m.Files(t.Context(), me, id, "sub")
	expect(t, err == nil && len(listed.Entries) == mostEntries && listed.Left >= 1, "%d entries and %d more, %v", len(listed.Entries), listed.Left, err)
}

func TestFiguresAreReadFromThePrivateDirectoryOnly(t *testing.T) {
	var dir string
	m := newTestManager(t, workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		dir = w.spec.PrivateDir
		sink.Figure(Figure{Path: filepath.Join(dir, "figs", r.Code), MIMEType: "image/png", Title: r.Code, Preview: []byte("small")})
		return Outcome{OK: true}, nil
	}), nil)
	id := mustRun(t, m, RunRequest{Code: "one.png"}).InterpreterID
	mustRun(t, m, RunRequest{Code: "../../passwd"})
	must(t, os.Mkdir(filepath.Join(dir, "figs"), 0o700))
	for path, text := range map[string]string{"figs/one.png": "the figure", "../passwd": "secret"} {
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	f, figure, err := m.Figure(t.Context(), me, id, "one.png", 100)
	expect(t, err == nil && string(f.Data) == "the figure" && figure.Title == "one.png" && figure.Preview == nil, "%+v %+v %v", f, figure, err)
	_, _, err = m.Figure(t.Context(), me, id, "one.png", 5)
	wantCode(t, err, CodeLimit, filepath.Join(dir, "figs", "one.png"))
	_, _, err = m.Figure(t.Context(), me, id, "passwd", 100)
	wantCode(t, err, CodeNotFound, "not among the files")
	for _, name := range []string{"two.png", "figs/one.png", ""} {
		_, _, err = m.Figure(t.Context(), me, id, name, 100)
		wantCode(t, err, CodeNotFound, "shown no figure")
	}
	must(t, os.Remove(filepath.Join(dir, "figs", "one.png")))
	_, _, err = m.Figure(t.Context(), me, id, "one.png", 100)
	wantCode(t, err, CodeNotFound, "gone")
}

func TestArtifactsAreRead(t *testing.T) {
	var dir string
	m := newTestManager(t, workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		dir = w.spec.PrivateDir
		name := filepath.Base(r.Code)
		sink.Artifact(Artifact{Name: name, Kind: "txt", Path: filepath.Join(dir, r.Code), Preview: "of " + r.Code, Image: []byte("small")})
		return Outcome{OK: true}, os.WriteFile(filepath.Join(dir, r.Code), []byte("in "+r.Code+"\nend\n"), 0o600)
	}), nil)
	first := mustRun(t, m, RunRequest{Code: "a.txt"})
	expect(t, len(first.Artifacts) == 1 && string(first.Artifacts[0].Image) == "small", "%+v", first.Artifacts)
	id := first.InterpreterID
	mustRun(t, m, RunRequest{Code: "b.txt"})
	mustRun(t, m, RunRequest{Code: "../a.txt"})
	f, artifact, err := m.Artifact(t.Context(), me, id, "b.txt", Range{}, 100)
	expect(t, err == nil && string(f.Data) == "in b.txt\nend\n" && f.Text && artifact.Preview == "of b.txt" && artifact.Image == nil, "%+v %+v %v", f, artifact, err)
	f, _, err = m.Artifact(t.Context(), me, id, "b.txt", Range{From: 2}, 5)
	expect(t, err == nil && f.Page.Text == "end\n" && f.Page.Path == filepath.Join(dir, "b.txt"), "%+v %v", f, err)
	_, _, err = m.Artifact(t.Context(), me, id, "b.txt", Range{}, 5)
	wantCode(t, err, CodeLimit, filepath.Join(dir, "b.txt"))
	_, _, err = m.Artifact(t.Context(), me, id, "a.txt", Range{}, 100) // the newest of that name
	wantCode(t, err, CodeNotFound, "not among the files")
	_, _, err = m.Artifact(t.Context(), me, id, "c.txt", Range{}, 100)
	wantCode(t, err, CodeNotFound, "kept no artifact")
	record, err := m.Execution(me, id, 2)
	expect(t, err == nil && len(record.Artifacts) == 1 && record.Artifacts[0].Name == "b.txt" && record.Artifacts[0].Image == nil, "%+v %v", record, err)
	must(t, os.Remove(filepath.Join(dir, "b.txt")))
	_, _, err = m.Artifact(t.Context(), me, id, "b.txt", Range{}, 100)
	wantCode(t, err, CodeNotFound, "gone")
}

func TestUploads(t *testing.T) {
	m, id, dir := withFiles(t)
	for _, test := range []struct {
		path, data string
		replaced   bool
	}{
		{"new.txt", "text", false}, {"new.txt", "", true}, {"deep/er/é.bin", "\x00\xff", false}, {"sub/./b.csv", "3", true},
	} {
		u, err := m.Upload(t.Context(), me, id, test.path, []byte(test.data))
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		written, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(test.path)))
		expect(t, err == nil && string(written) == test.data && u.Replaced == test.replaced && u.Size == len(test.data) && u.InterpreterID == id,
			"%s: %+v %q %v", test.path, u, written, err)
	}
	for path, words := range badPaths {
		if path == "out" {
			words = "no regular file"
		}
		_, err := m.Upload(t.Context(), me, id, path, []byte("x"))
		if path == "abroad/passwd" || path == "up/secret" {
			wantCode(t, err, CodeInvalid, "could not be written")
			continue
		}
		wantCode(t, err, CodeInvalid, words)
	}
	for path, words := range map[string]string{
		"": "name a file", ".": "name a file", "sub/": "name a file", "sub": "directory", "in": "no regular file", "a.txt/x": "; give another path",
	} {
		wantCode(t, errOf(m.Upload(t.Context(), me, id, path, []byte("x"))), CodeInvalid, words)
	}
	secret, err := os.ReadFile(filepath.Join(dir, "..", "secret"))
	expect(t, err == nil && string(secret) == "secret", "%q %v", secret, err)
	left, _ := filepath.Glob(filepath.Join(dir, ".upload-*"))
	expect(t, len(left) == 0, "left behind: %v", left)
}

func TestUploadMakesTheDefaultSession(t *testing.T) {
	starter := echoes()
	m := newTestManager(t, starter, nil)
	u, err := m.Upload(t.Context(), me, "", "data.csv", bytes.Repeat([]byte("x"), 1<<20))
	if err != nil || len(starter.started()) != 0 {
		t.Fatalf("%v; %d workers", err, len(starter.started()))
	}
	r := mustRun(t, m, RunRequest{Code: "x"})
	expect(t, r.InterpreterID == u.InterpreterID, "ran in %s, uploaded to %s", r.InterpreterID, u.InterpreterID)
	info, err := os.Stat(u.File)
	expect(t, err == nil && info.Size() == 1<<20, "%v %v", info, err)
}

// TestWhatTakesThePlaceOfAWorkingDirectory is not followed; a directory that the
// code has made anew is.
func TestWhatTakesThePlaceOfAWorkingDirectory(t *testing.T) {
	for name, shared := range map[string]bool{"own": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			foreign, dir := t.TempDir(), filepath.Join(t.TempDir(), "work")
			m := newTestManager(t, echoes(), func(o *Options) {
				if shared {
					o.Workdir = dir
				}
			})
			id := mustRun(t, m, RunRequest{Code: "x"}).InterpreterID
			dir = m.sessions[id].dirs.Work
			for name, put := range map[string]func() error{
				"link": func() error { return os.Symlink(foreign, dir) }, "pipe": func() error { return makeFIFO(dir) },
			} {
				must(t, os.RemoveAll(dir))
				if err := put(); err != nil {
					t.Logf("%s: %v", name, err) // not possible on this system
					continue
				}
				wantCode(t, errOf(m.Files(t.Context(), me, id, "")), CodeNotFound, "no directory any more")
				wantCode(t, errOf(m.Upload(t.Context(), me, id, "a.txt", []byte("x"))), CodeNotFound, "no directory any more")
			}
			left, err := os.ReadDir(foreign)
			expect(t, err == nil && len(left) == 0, "%v %v", left, err)
			must(t, os.Remove(dir))
			must(t, os.Mkdir(dir, 0o700))
			must(t, errOf(m.Upload(t.Context(), me, id, "a.txt", []byte("x"))))
		})
	}
}

// confining is a fakeStarter with walls that it only notes.
type confining struct {
	*fakeStarter
	admitting func(dirs []string) error       // nil: all are admitted
	wait      func(ctx context.Context) error // comes first; nil: nothing does

	mu       sync.Mutex
	admitted map[string][]string // directories by group
	released []string
}

func (c *confining) Confines() bool { return true }

func (c *confining) PrepareSandbox(ctx context.Context, group string, dirs ...string) error {
	if c.wait != nil {
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admitted == nil {
		c.admitted = map[string][]string{}
	}
	c.admitted[group] = append(c.admitted[group], dirs...)
	if c.admitting != nil {
		return c.admitting(dirs)
	}
	return nil
}

func (c *confining) Release(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = append(c.released, group)
}

// walled is a Manager of sessions that survive their crashes, behind walls.
func walled(t *testing.T, change func(*Options)) (*Manager, *confining, string) {
	t.Helper()
	c, root := &confining{fakeStarter: remembers()}, ""
	m := newTestManager(t, c, func(o *Options) {
		root = o.WorkdirRoot
		if change != nil {
			change(o)
		}
	})
	return m, c, root
}

func remove(t *testing.T, m *Manager, id string) {
	t.Helper()
	must(t, m.Delete(t.Context(), me, id))
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	expect(t, slices.Equal(got, want), "%s holds %q, not %q", dir, got, want)
}

func TestAFamilyHasAHomeWhileAnyOfItLives(t *testing.T) {
	m, c, root := walled(t, nil)
	run(t, m, "a")
	first := list(t, m)[0]
	home := filepath.Join(root, "home-"+first.ID)
	expect(t, first.Workdir == filepath.Join(home, first.ID), "%+v", first.Workdir)
	write(t, first.Workdir, "data", "1")
	child := branch(t, m, first.ID)
	grandchild := branch(t, m, child.ID)
	wantEntries(t, home, "tmp", "packages", first.ID, first.ID+".files", child.ID, child.ID+".files", grandchild.ID, grandchild.ID+".files")
	wantEntries(t, grandchild.Workdir, "data")
	for _, w := range c.started() {
		expect(t, w.spec.Group == first.ID && w.spec.Home == home, "%+v", w.spec)
	}
	tmp, packages := filepath.Join(home, "tmp"), filepath.Join(home, "packages")
	want := []string{tmp, packages}
	for _, l := range []Listing{first, child, grandchild} {
		want = append(want, l.Workdir, l.Workdir+".files")
	}
	got := c.admitted[first.ID]
	expect(t, slices.Equal(got, want), "admitted %q", got)
	remove(t, m, first.ID)
	remove(t, m, grandchild.ID)
	wantEntries(t, home, "tmp", "packages", child.ID, child.ID+".files")
	r := runIn(t, m, child.ID, "b")
	expect(t, r.Stdout == "a b" && len(c.released) == 0, "%+v, released %q", r, c.released)
	write(t, home, "anything", "x") // code can do that where the server is not root
	remove(t, m, child.ID)
	wantEntries(t, root)
	expect(t, slices.Equal(c.released, []string{first.ID}), "released %q", c.released)
}

func TestTwoSessionsAreTwoFamilies(t *testing.T) {
	m, c, root := walled(t, nil)
	a, err := m.Create(t.Context(), me, CreateRequest{})
	b, err2 := m.Create(t.Context(), me, CreateRequest{})
	must(t, errors.Join(err, err2))
	wantEntries(t, root, "home-"+a.ID, "home-"+b.ID)
	expect(t, len(c.admitted) == 2, "%v", c.admitted)
	info, err := os.Stat(filepath.Join(root, "home-"+a.ID))
	expect(t, err == nil && info.Mode().Perm() == 0o711, "%v %v", info, err)
	for _, dir := range c.admitted[a.ID] {
		info, err := os.Stat(dir)
		expect(t, err == nil && info.Mode().Perm() == 0o700, "%s: %v %v", dir, info, err)
	}
}

func TestADirectoryIsHandedOverOnce(t *testing.T) {
	m, c, _ := walled(t, nil)
	run(t, m, "a")
	parent := list(t, m)[0]
	branch(t, m, parent.ID)
	runIn(t, m, parent.ID, "crash")
	n := len(c.admitted[parent.ID])
	expect(t, n == 6, "%q", c.admitted)
}

// TestWhatIsMadeAnewWhileItIsHandedOverIsHandedOverAgain where who tidies up removes the home.
func TestWhatIsMadeAnewWhileItIsHandedOverIsHandedOverAgain(t *testing.T) {
	m, c, root := walled(t, nil)
	id := mustCreate(t, m).ID
	home, dirs := filepath.Join(root, "home-"+id), m.sessions[id].dirs
	anew := func() error { return errors.Join(os.RemoveAll(home), dirs.Make()) }
	c.wait = func(context.Context) error { return anew() }
	must(t, errors.Join(anew(), dirs.PrepareSandbox(t.Context())))
	c.wait = nil
	for _, want := range []int{3 * 4, 3 * 4} {
		err := dirs.PrepareSandbox(t.Context())
		expect(t, err == nil && len(c.admitted[id]) == want, "%q %v", c.admitted, err)
	}
}

func TestWhatIsNotAdmittedDoesNotStart(t *testing.T) {
	m, c, root := walled(t, nil)
	c.admitting = func([]string) error { return errors.New("no user is left") }
	wantCode(t, errOf(m.Create(t.Context(), me, CreateRequest{})), CodeStart, "could not be confined: no user is left")
	wantEntries(t, root)
	expect(t, len(c.started()) == 0 && len(c.released) == 1, "%d started, released %q", len(c.started()), c.released)
	c.admitting = nil
	run(t, m, "a")
	c.admitting = func([]string) error { return errors.New("no user is left") }
	wantCode(t, errOf(m.Branch(t.Context(), me, "")), CodeStart, "could not be confined")
	n := len(list(t, m))
	expect(t, n == 1 && len(c.released) == 1, "%d sessions, released %q", n, c.released)
}

// TestAWallThatTakesLongHoldsUpNobodyElse is about one that waits for Python.
func TestAWallThatTakesLongHoldsUpNobodyElse(t *testing.T) {
	m, c, _ := walled(t, nil)
	entered := make(chan struct{})
	c.wait = func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := m.Upload(ctx, me, "", "a", nil)
		first <- err
	}()
	<-entered
	l := list(t, m)[0]
	group := m.sessions[l.ID].group
	err := group.Join()
	expect(t, err == nil && group.Made() != "", "%+v", err)
	group.Leave(t.Context())
	soon, give := context.WithTimeout(t.Context(), time.Millisecond)
	defer give()
	_, err = m.Upload(soon, me, l.ID, "b", nil)
	expect(t, errors.Is(err, context.DeadlineExceeded), "%+v", err)
	cancel()
	err = <-first
	expect(t, errors.Is(err, context.Canceled), "%+v", err)
	c.wait = nil
	run(t, m, "a")
	expect(t, len(c.released) == 0, "%q", c.released)
}

func TestAHomeBesideASharedWorkingDirectory(t *testing.T) {
	shared := t.TempDir()
	m, c, root := walled(t, func(o *Options) { o.Workdir = shared })
	run(t, m, "a")
	s := list(t, m)[0]
	home := filepath.Join(root, "home-"+s.ID)
	expect(t, s.Workdir == shared, "%+v", s.Workdir)
	wantEntries(t, home, "tmp", "packages", s.ID)
	got := c.admitted[s.ID]
	expect(t, slices.Equal(got, []string{filepath.Join(home, "tmp"), filepath.Join(home, "packages"), filepath.Join(home, s.ID)}), "admitted %q", got)
	remove(t, m, s.ID)
	wantEntries(t, root)
}

func TestKeptWorkingDirectoriesOutliveTheirHome(t *testing.T) {
	m, _, root := walled(t, func(o *Options) { o.KeepWorkdirs = true })
	run(t, m, "a")
	s := list(t, m)[0]
	write(t, s.Workdir, "data", "1")
	write(t, filepath.Join(root, "home-"+s.ID, "tmp"), "x", "1")
	remove(t, m, s.ID)
	wantEntries(t, filepath.Join(root, "home-"+s.ID), s.ID)
	wantEntries(t, s.Workdir, "data")
}

// TestAHomeThatIsALinkLeadsNowhere has code put a link in the place of its home,
// which it may own where the server is no root.
func TestAHomeThatIsALinkLeadsNowhere(t *testing.T) {
	m, _, root := walled(t, nil)
	a, err := m.Create(t.Context(), me, CreateRequest{})
	b, err2 := m.Create(t.Context(), me, CreateRequest{})
	must(t, errors.Join(err, err2))
	theirs := filepath.Join(root, "home-"+b.ID)
	must(t, os.MkdirAll(filepath.Join(theirs, a.ID), 0o700))
	write(t, filepath.Join(theirs, a.ID), "secret", "x")
	own := filepath.Join(root, "home-"+a.ID)
	must(t, errors.Join(os.RemoveAll(own), os.Symlink("home-"+b.ID, own)))
	wantCode(t, errOf(m.File(t.Context(), me, a.ID, "secret", Range{}, 100)), CodeNotFound, "can't be opened", "no directory any more")
	wantCode(t, errOf(m.Upload(t.Context(), me, a.ID, "x", []byte("x"))), CodeNotFound, "no directory any more")
	remove(t, m, a.ID)
	wantEntries(t, theirs, "tmp", "packages", a.ID, b.ID, b.ID+".files")
	wantEntries(t, filepath.Join(theirs, a.ID), "secret")
}
