package sessions

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/sessions/workdir"
)

// confining is a fakeStarter with walls that it only notes.
type confining struct {
	*fakeStarter
	admitting func(dirs []string) error       // nil: all are admitted
	wait      func(ctx context.Context) error // comes first; nil: nothing does

	mu       sync.Mutex
	admitted map[string][]string // directories by family
	released []string
}

func (c *confining) Confines() bool { return true }

func (c *confining) PrepareSandbox(ctx context.Context, family string, dirs ...string) error {
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
	c.admitted[family] = append(c.admitted[family], dirs...)
	if c.admitting != nil {
		return c.admitting(dirs)
	}
	return nil
}

func (c *confining) Release(family string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = append(c.released, family)
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
	t.Cleanup(func() { m.Close(context.Background()) })
	return m, c, root
}

func remove(t *testing.T, m *Manager, id string) {
	t.Helper()
	if err := m.Delete(t.Context(), me, id); err != nil {
		t.Fatal(err)
	}
}

func wantEntries(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, not %q", dir, got, want)
	}
}

func TestAFamilyHasAHomeWhileAnyOfItLives(t *testing.T) {
	m, c, root := walled(t, nil)
	run(t, m, "a")
	first := list(t, m)[0]
	home := filepath.Join(root, "home-"+first.ID)
	if first.Workdir != filepath.Join(home, first.ID) {
		t.Error(first.Workdir)
	}
	write(t, first.Workdir, "data", "1")
	child := branch(t, m, first.ID)
	grandchild := branch(t, m, child.ID)
	wantEntries(t, home, "tmp", "packages", first.ID, first.ID+".files", child.ID, child.ID+".files", grandchild.ID, grandchild.ID+".files")
	wantEntries(t, grandchild.Workdir, "data")
	for _, w := range c.started() {
		if w.spec.Family != first.ID || w.spec.Home != home {
			t.Errorf("%+v", w.spec)
		}
	}
	tmp, packages := filepath.Join(home, "tmp"), filepath.Join(home, "packages")
	want := []string{tmp, packages}
	for _, l := range []Listing{first, child, grandchild} {
		want = append(want, l.Workdir, l.Workdir+".files")
	}
	if got := c.admitted[first.ID]; !slices.Equal(got, want) {
		t.Errorf("admitted %q", got)
	}
	remove(t, m, first.ID)
	remove(t, m, grandchild.ID)
	wantEntries(t, home, "tmp", "packages", child.ID, child.ID+".files")
	if r := runIn(t, m, child.ID, "b"); r.Stdout != "a b" || len(c.released) != 0 {
		t.Errorf("%+v, released %q", r, c.released)
	}
	write(t, home, "anything", "x") // code can do that where the server is not root
	remove(t, m, child.ID)
	wantEntries(t, root)
	if !slices.Equal(c.released, []string{first.ID}) {
		t.Errorf("released %q", c.released)
	}
}

func TestTwoSessionsAreTwoFamilies(t *testing.T) {
	m, c, root := walled(t, nil)
	a, err := m.Create(t.Context(), me, CreateRequest{})
	b, err2 := m.Create(t.Context(), me, CreateRequest{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, root, "home-"+a.ID, "home-"+b.ID)
	if len(c.admitted) != 2 {
		t.Errorf("%v", c.admitted)
	}
	info, err := os.Stat(filepath.Join(root, "home-"+a.ID))
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%v %v", info, err)
	}
	for _, dir := range c.admitted[a.ID] {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info, err)
		}
	}
}

func TestADirectoryIsHandedOverOnce(t *testing.T) {
	m, c, _ := walled(t, nil)
	run(t, m, "a")
	parent := list(t, m)[0]
	branch(t, m, parent.ID)
	runIn(t, m, parent.ID, "crash")
	if n := len(c.admitted[parent.ID]); n != 6 {
		t.Errorf("%q", c.admitted)
	}
}

func TestWhatIsNotAdmittedDoesNotStart(t *testing.T) {
	m, c, root := walled(t, nil)
	c.admitting = func([]string) error { return errors.New("no user is left") }
	_, err := m.Create(t.Context(), me, CreateRequest{})
	wantCode(t, err, CodeStart, "could not be confined: no user is left")
	wantEntries(t, root)
	if len(c.started()) != 0 || len(c.released) != 1 {
		t.Errorf("%d started, released %q", len(c.started()), c.released)
	}
	c.admitting = nil
	run(t, m, "a")
	c.admitting = func([]string) error { return errors.New("no user is left") }
	_, err = m.Branch(t.Context(), me, "")
	wantCode(t, err, CodeStart, "could not be confined")
	if n := len(list(t, m)); n != 1 || len(c.released) != 1 {
		t.Errorf("%d sessions, released %q", n, c.released)
	}
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
	if err := group.Join(); err != nil || group.Made() == "" {
		t.Error(err)
	}
	group.Leave(t.Context())
	soon, give := context.WithTimeout(t.Context(), time.Millisecond)
	defer give()
	if _, err := m.Upload(soon, me, l.ID, "b", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.wait = nil
	run(t, m, "a")
	if len(c.released) > 0 {
		t.Errorf("%q", c.released)
	}
}

func TestAHomeBesideASharedWorkingDirectory(t *testing.T) {
	shared := t.TempDir()
	m, c, root := walled(t, func(o *Options) { o.Workdir = shared })
	run(t, m, "a")
	s := list(t, m)[0]
	home := filepath.Join(root, "home-"+s.ID)
	if s.Workdir != shared {
		t.Error(s.Workdir)
	}
	wantEntries(t, home, "tmp", "packages", s.ID)
	if got := c.admitted[s.ID]; !slices.Equal(got, []string{filepath.Join(home, "tmp"), filepath.Join(home, "packages"), filepath.Join(home, s.ID)}) {
		t.Errorf("admitted %q", got)
	}
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
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(root, "home-"+b.ID)
	if err := os.MkdirAll(filepath.Join(theirs, a.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(theirs, a.ID), "secret", "x")
	own := filepath.Join(root, "home-"+a.ID)
	if err := errors.Join(os.RemoveAll(own), os.Symlink("home-"+b.ID, own)); err != nil {
		t.Fatal(err)
	}
	_, err = m.File(t.Context(), me, a.ID, "secret", Range{}, 100)
	wantCode(t, err, CodeNotFound, "can't be opened", "no directory any more")
	_, err = m.Upload(t.Context(), me, a.ID, "x", []byte("x"))
	wantCode(t, err, CodeNotFound, "no directory any more")
	remove(t, m, a.ID)
	wantEntries(t, theirs, "tmp", "packages", a.ID, b.ID, b.ID+".files")
	wantEntries(t, filepath.Join(theirs, a.ID), "secret")
}

func TestWithoutWallsAHomeIsMadeWhenItIsAskedFor(t *testing.T) {
	var root string
	m := surviving(t, remembers(), func(o *Options) { root = o.WorkdirRoot })
	run(t, m, "a")
	l := list(t, m)[0]
	wantEntries(t, root, l.ID, l.ID+".files")
	s := m.sessions[l.ID]
	if spec := s.spec(); spec.Family != l.ID || spec.Home != "" {
		t.Errorf("%+v", spec)
	}
	home, err := s.group.Home()
	if err != nil || home != filepath.Join(root, "home-"+l.ID) || s.spec().Home != home {
		t.Errorf("%s %v", home, err)
	}
	child := m.sessions[branch(t, m, "").ID]
	if again, err := child.group.Home(); again != home || err != nil {
		t.Errorf("%s %v", again, err)
	}
	remove(t, m, l.ID)
	wantEntries(t, root, child.id, child.id+".files", "home-"+l.ID)
	remove(t, m, child.id)
	wantEntries(t, root)
	if _, err = child.group.Home(); !errors.Is(err, workdir.ErrEnded) {
		t.Error(err)
	}
	if strings.Contains(home, child.id) {
		t.Error(home)
	}
}

func TestBranchesShareTheDiskLimit(t *testing.T) {
	m, _, root := walled(t, func(o *Options) { o.DiskLimit = 3 << 20 })
	run(t, m, "a")
	parent := list(t, m)[0]
	write(t, parent.Workdir, "data", strings.Repeat("x", 1<<20))
	child := branch(t, m, parent.ID)
	_, err := m.Branch(t.Context(), me, child.ID)
	wantCode(t, err, CodeLimit, "limit of 3 MiB (--disk-limit)", "delete files below "+child.Workdir)
	wantEntries(t, filepath.Join(root, "home-"+parent.ID), "tmp", "packages", parent.ID, parent.ID+".files", child.ID, child.ID+".files")
	remove(t, m, parent.ID)
	branch(t, m, child.ID)
}
