package sessions

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// handing is a Manager whose walls give directories to another user, as they do where
// the server is root.
func handing(t *testing.T, change func(*Options)) (*Manager, *confining) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	m, c, _ := walled(t, change)
	c.admitting = func(dirs []string) error {
		var problems []error
		for _, dir := range dirs {
			problems = append(problems, os.Lchown(dir, nobody, nobody))
		}
		return errors.Join(problems...)
	}
	return m, c
}

// wantOwner wants everything below dir, and dir, to belong to that user.
func wantOwner(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		got, group := idsOf(info)
		expect(t, got == uid && group == uid, "%s belongs to %d:%d", path, got, group)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func idsOf(info fs.FileInfo) (uid, gid int) {
	sys := info.Sys().(*syscall.Stat_t)
	return int(sys.Uid), int(sys.Gid)
}

func upload(t *testing.T, m *Manager, name, text string) *Upload {
	t.Helper()
	u, err := m.Upload(t.Context(), me, "", name, []byte(text))
	must(t, err)
	return u
}

func TestWhatTheServerWritesBelongsToTheSession(t *testing.T) {
	m, _ := handing(t, nil)
	upload(t, m, "before/anything/ran.csv", "1")
	run(t, m, "a")
	upload(t, m, "top.csv", "1")
	upload(t, m, "before/too.csv", "1")
	u := upload(t, m, "top.csv", "2")
	expect(t, u.Replaced, "%+v", u)
	parent := list(t, m)[0]
	wantOwner(t, parent.Workdir, nobody)
	program := filepath.Join(parent.Workdir, "program")
	err := errors.Join(
		os.Symlink("/etc/passwd", filepath.Join(parent.Workdir, "abroad")),
		os.Lchown(filepath.Join(parent.Workdir, "abroad"), nobody, nobody),
		os.WriteFile(program, []byte("x"), 0o755), os.Chown(program, nobody, nobody), os.Chmod(program, 0o755|fs.ModeSetuid),
	)
	must(t, err)
	child := branch(t, m, "")
	wantOwner(t, child.Workdir, nobody)
	if info, err := os.Stat(filepath.Join(child.Workdir, "program")); err != nil || info.Mode()&fs.ModeSetuid == 0 {
		t.Errorf("%v %v", info, err) // for its owner, which is not root
	}
	if info, err := os.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	} else if uid, _ := idsOf(info); uid != 0 {
		t.Errorf("it belongs to %d now", uid)
	}
}

// TestAHardLinkOpensNothingThatTheCodeMayNotRead has a name in the working directory of
// a file that only root may read. The system refuses such links where
// protected_hardlinks is set, but not everywhere.
func TestAHardLinkOpensNothingThatTheCodeMayNotRead(t *testing.T) {
	m, _ := handing(t, nil)
	run(t, m, "a")
	l := list(t, m)[0]
	secret := filepath.Join(t.TempDir(), "secret")
	open := filepath.Join(filepath.Dir(secret), "open")
	err := errors.Join(
		os.WriteFile(secret, []byte("secret"), 0o600), os.Link(secret, filepath.Join(l.Workdir, "link")),
		os.WriteFile(open, []byte("open"), 0o644), os.Link(open, filepath.Join(l.Workdir, "fine")),
	)
	if errors.Is(err, syscall.EXDEV) {
		t.Skip("the two are on different file systems")
	}
	must(t, err)
	wantCode(t, errOf(m.File(t.Context(), me, l.ID, "link", Range{}, 100)), CodeInvalid, "permission denied")
	f, err := m.File(t.Context(), me, l.ID, "fine", Range{}, 100)
	expect(t, err == nil && string(f.Data) == "open", "%+v %v", f, err)
	child, err := m.Branch(t.Context(), me, "")
	got := strings.Join(child.Notes, "\n")
	expect(t, err == nil && strings.Contains(got, "1 special or unreadable file of the working directory can't be copied and did not come along: link"),
		"%v, %s", err, got)
	must(t, os.Remove(filepath.Join(l.Workdir, "link")))
	upload(t, m, "fine", "mine") // it replaces the name, and does not write to the file
	text, err := os.ReadFile(open)
	expect(t, string(text) == "open", "%q %v", text, err)
	branch(t, m, "")
}

// TestAnUploadIntoADirectoryForAll is about one that is root's, in which the sessions of
// other users work, too.
func TestAnUploadIntoADirectoryForAll(t *testing.T) {
	shared := t.TempDir()
	m, _ := handing(t, func(o *Options) { o.Workdir = shared })
	run(t, m, "a")
	err := errors.Join(os.Chmod(shared, 0o777|fs.ModeSticky), os.Mkdir(filepath.Join(shared, "closed"), 0o755))
	must(t, err)
	write(t, shared, "theirs", "1")
	mine := filepath.Join(shared, "mine")
	upload(t, m, "mine", "1")
	must(t, os.Chmod(mine, 0o600))
	u := upload(t, m, "mine", "2")
	expect(t, u.Replaced, "%+v", u)
	upload(t, m, "new/data.csv", "1")
	wantOwner(t, mine, nobody)
	wantOwner(t, filepath.Join(shared, "new"), nobody)
	f, err := m.File(t.Context(), me, "", "mine", Range{}, 100)
	expect(t, err == nil && string(f.Data) == "2", "%+v %v", f, err)
	for name, words := range map[string]string{
		"theirs": "no upload of this interpreter wrote", "closed/x": "permission denied", "closed/y/z": "permission denied",
	} {
		wantCode(t, errOf(m.Upload(t.Context(), me, "", name, []byte("x"))), CodeInvalid, words)
	}
	wantEntries(t, filepath.Join(shared, "closed"))
}

// TestASharedDirectoryOfAnotherUsersHoldsOthersFiles is about one in which the operator
// has put files and directories of root's: the server, which is root, does nothing there
// for the code's client that code may not do.
func TestASharedDirectoryOfAnotherUsersHoldsOthersFiles(t *testing.T) {
	shared := t.TempDir()
	m, _ := handing(t, func(o *Options) { o.Workdir = shared })
	run(t, m, "a")
	err := errors.Join(os.Chown(shared, nobody, nobody), os.Mkdir(filepath.Join(shared, "readable"), 0o755), os.Mkdir(filepath.Join(shared, "closed"), 0o700))
	must(t, err)
	write(t, shared, "readable/operators", "1")
	write(t, shared, "closed/operators", "1")
	for _, name := range []string{"readable/operators", "closed/operators"} {
		must(t, os.Chmod(filepath.Join(shared, name), 0o644))
	}
	wantCode(t, errOf(m.Upload(t.Context(), me, "", "readable/operators", []byte("x"))), CodeInvalid, "no upload of this interpreter wrote")
	for _, name := range []string{"readable/x", "readable/y/z"} {
		wantCode(t, errOf(m.Upload(t.Context(), me, "", name, []byte("x"))), CodeInvalid, "permission denied")
	}
	wantCode(t, errOf(m.Upload(t.Context(), me, "", "closed/operators", []byte("x"))), CodeInvalid, "permission denied")
	l := list(t, m)[0]
	wantCode(t, errOf(m.Files(t.Context(), me, l.ID, "closed")), CodeInvalid, "permission denied")
	wantCode(t, errOf(m.File(t.Context(), me, l.ID, "closed/operators", Range{}, 100)), CodeInvalid, "permission denied")
	wantCode(t, errOf(m.Stat(t.Context(), me, l.ID, "closed/operators")), CodeInvalid, "permission denied")
	f, err := m.File(t.Context(), me, l.ID, "readable/operators", Range{}, 100)
	expect(t, err == nil && string(f.Data) == "1", "%+v %v", f, err)
	d, err := m.Files(t.Context(), me, l.ID, "readable")
	expect(t, err == nil && len(d.Entries) == 1, "%+v %v", d, err)
	upload(t, m, "own/data.csv", "1")
	wantOwner(t, filepath.Join(shared, "own"), nobody)
	// The threads that gave up root's rights did it for themselves.
	must(t, os.WriteFile(filepath.Join(shared, "closed", "servers"), nil, 0o600))
}

func TestAKeptWorkingDirectoryIsTakenBack(t *testing.T) {
	m, _ := handing(t, func(o *Options) { o.KeepWorkdirs = true })
	run(t, m, "a")
	l := list(t, m)[0]
	if err := os.Chmod(l.Workdir, 0o777); err != nil { // code may
		t.Fatal(err)
	}
	remove(t, m, l.ID)
	info, err := os.Stat(l.Workdir)
	must(t, err)
	uid, gid := idsOf(info)
	expect(t, uid == 0 && gid == 0 && info.Mode().Perm() == 0o700, "%d:%d %v", uid, gid, info.Mode())
}

// TestAClaimedPathOpensNothingOutside is about figures and artifacts: code can have the
// worker say any path.
func TestAClaimedPathOpensNothingOutside(t *testing.T) {
	var entries recorder
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), "secret", "x")
	c := &confining{fakeStarter: workerThat(func(w *fakeWorker, _ Request, sink Sink) (Outcome, error) {
		write(t, w.spec.PrivateDir, "a.png", "figure")
		_ = os.Symlink(secret, filepath.Join(w.spec.PrivateDir, "link.png"))
		_ = os.Symlink("/", filepath.Join(w.spec.PrivateDir, "abroad"))
		_ = syscall.Mkfifo(filepath.Join(w.spec.PrivateDir, "pipe.png"), 0o600)
		sink.Figure(Figure{Path: filepath.Join(w.spec.PrivateDir, "a.png")})
		return Outcome{OK: true}, nil
	})}
	m := newTestManager(t, c, func(o *Options) { o.Recorder = &entries })
	run(t, m, "x")
	entry := entries[0]
	file, err := entry.Open(entry.Result.Figures[0].Path)
	must(t, err)
	_ = file.Close()
	private := list(t, m)[0].Workdir + ".files"
	for path, want := range map[string]string{
		secret: "not in the interpreter's private directory", filepath.Join(private, "..", "..", "x"): "not in the interpreter's private directory",
		filepath.Join(private, "link.png"): "out of the working directory", private + "/abroad" + secret: "out of the working directory",
		filepath.Join(private, "pipe.png"): "no regular file", private: "is a directory", "": "not in the interpreter's private directory",
	} {
		file, err := entry.Open(path)
		expect(t, err != nil && strings.Contains(err.Error(), want), "%s: %v %v", path, file, err)
	}
}
