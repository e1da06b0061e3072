package worker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/pyworker"
	"understudy/sessions"
)

// hostOf finds out once what this machine allows.
var hostOf = sync.OnceValues(func() (sandbox.Host, error) {
	confine, err := pyworker.Files.ReadFile("sandbox/confine.py")
	if err != nil {
		return sandbox.Host{}, err
	}
	return sandbox.Detect(context.Background(), cmp.Or(os.Getenv("UNDERSTUDY_TEST_PYTHON"), "python3"), confine)
})

// testWall returns a wall as the server would build it for the tests' Python, and what puts
// a Spawner behind it. The first directory of Python's is that of the library, if there is one.
func testWall(t testing.TB, settings sandbox.Settings) (*sandbox.Wall, func(*Options)) {
	t.Helper()
	host, err := hostOf()
	must(t, err)
	return wallOn(t, host, settings)
}

// wallOn returns them for a host that allows this.
func wallOn(t testing.TB, host sandbox.Host, settings sandbox.Settings) (*sandbox.Wall, func(*Options)) {
	t.Helper()
	python := workertest.Python(t)
	resolved, err := filepath.EvalSymlinks(python)
	must(t, err)
	settings.Mode = sandbox.Standard
	settings.Python = append(settings.Python, filepath.Join(t.TempDir(), "lib"), filepath.Dir(filepath.Dir(python)), filepath.Dir(filepath.Dir(resolved)))
	w, err := sandbox.New(settings, host)
	must(t, err)
	return w, func(o *Options) { o.LibraryDir, o.Wall = settings.Python[0], w }
}

// spawnedBehind starts a worker behind a wall of these settings.
func spawnedBehind(t testing.TB, settings sandbox.Settings) sessions.Worker {
	t.Helper()
	wall, behind := testWall(t, settings)
	return workertest.Start(t, walled{testSpawner(t, behind), wall, t})
}

func needNamespaces(t *testing.T) {
	t.Helper()
	host, err := hostOf()
	must(t, err)
	if host.NoNamespaces != "" {
		t.Skip("there are no namespaces here: ", host.NoNamespaces)
	}
}

// openDir makes a directory that everybody may search, in one that is no test's own.
func openDir(t testing.TB, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "open-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// walled makes of any start one of a family that has a home.
type walled struct {
	sessions.Starter
	wall *sandbox.Wall
	t    testing.TB
}

// Start hands the working directory to the session's user first.
func (w walled) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	return w.startIn(ctx, spec, filepath.Join(w.t.TempDir(), "home"))
}

func (w walled) startIn(ctx context.Context, spec sessions.Spec, home string) (sessions.Worker, error) {
	spec.Group, spec.Home = spec.InterpreterID, home
	temporary := filepath.Join(spec.Home, "tmp")
	if err := os.MkdirAll(temporary, 0o711); err != nil {
		return nil, err
	}
	if err := w.wall.Admit(spec.Group, temporary, spec.Workdir); err != nil {
		return nil, err
	}
	return w.Starter.Start(ctx, spec)
}

func TestSuiteBehindTheWall(t *testing.T) {
	wall, behind := testWall(t, sandbox.Settings{})
	z := testZygote(t, behind)
	workertest.Suite(t, func(t testing.TB) sessions.Starter { return walled{z, wall, t} })
}

func TestSpawnedBehindTheWall(t *testing.T) {
	w := spawnedBehind(t, sandbox.Settings{})
	_, sink := workertest.Run(t, w, "import os, socket; print(os.path.exists('/root'), os.getuid() != 0, socket.create_server(('127.0.0.1', 8000)).getsockname()[1])\n"+
		"import ctypes; number = ctypes.c_int(); _ = ctypes.CDLL(None).prctl(2, ctypes.byref(number)); print(number.value)") // PR_GET_PDEATHSIG
	got := strings.TrimSpace(sink.Text(sessions.Stdout))
	expect(t, got == "True True 8000\n9", "got %q", got)
}

// The operator names indexes of packages, and keeps the passwords for them.
func TestIndexesReachSessionsWithoutPasswords(t *testing.T) {
	for name, value := range map[string]string{
		"PIP_INDEX_URL": "https://index.corp.example/simple/", "PIP_EXTRA_INDEX_URL": "https://a.example/ https://me:secret@b.example/",
		"UV_INDEX_URL": "https://secret@c.example/", "UV_DEFAULT_INDEX": "corp=https://index.corp.example/simple/?token=secret", "AWS_SECRET_ACCESS_KEY": "secret",
	} {
		t.Setenv(name, value)
	}
	_, behind := testWall(t, sandbox.Settings{})
	s := testSpawner(t, behind)
	env := s.environment("/lib", s.nonce.Mark("id", 1))
	expect(t, slices.Contains(env, "PIP_INDEX_URL=https://index.corp.example/simple/") && !strings.Contains(strings.Join(env, "\n"), "secret"), "%q", env)
}

// woken wakes a copy of a worker.
func woken(t testing.TB, u sessions.Understudy, workdir string) sessions.Worker {
	t.Helper()
	w, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: workdir, FirstExecution: 2})
	must(t, err)
	return w
}

// A copy that steps in, and a branch, are behind the wall of their original.
func TestCopiesStayBehindTheWall(t *testing.T) {
	wall, behind := testWall(t, sandbox.Settings{})
	w := workertest.Start(t, walled{testZygote(t, behind), wall, t})
	const escape = "try:\n  print(open('/var/escape', 'w'))\nexcept OSError:\n  print('stopped')"
	for _, purpose := range []sessions.Purpose{sessions.ToBranch, sessions.ToStandBy} {
		u, err := w.Fork(context.Background(), purpose)
		must(t, err)
		if purpose == sessions.ToStandBy {
			w.Kill()
		}
		copied := woken(t, u, os.TempDir())
		expectPrinted(t, copied, escape, "stopped\n")
		fine(t, copied.Close(context.Background()))
	}
}

// However a worker comes to be, it has its tag before it may be another user's, to whom a
// root without CAP_SYS_RESOURCE could not give one.
func TestTagsAreTaken(t *testing.T) {
	wall, behind := testWall(t, sandbox.Settings{})
	forked := workertest.Start(t, walled{testZygote(t, behind), wall, t})
	u, err := forked.Fork(context.Background(), sessions.ToBranch)
	must(t, err)
	branch := woken(t, u, os.TempDir())
	for how, w := range map[string]sessions.Worker{
		"a spawned one": workertest.Start(t, walled{testSpawner(t, behind), wall, t}), "a forked one": forked, "a branch": branch,
	} {
		expect(t, proc.HasTag(w.(*worker).process.pid, w.(*worker).line.kin.Mark.Tag), "%s has no tag", how)
	}
	fine(t, branch.Close(context.Background()))
}

// Where root runs all code as one user, and code can't change its tag, branches can be
// branched too.
func TestBranchesOfOneUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs code as another user")
	}
	const somebody = 65534
	shared := t.TempDir()
	must(t, os.Chown(shared, somebody, somebody))
	wall, behind := testWall(t, sandbox.Settings{Shared: shared})
	w := workertest.StartIn(t, walled{testZygote(t, behind), wall, t}, shared)
	for number := range 2 {
		u, err := w.Fork(context.Background(), sessions.ToBranch)
		insist(t, err == nil, "branch %d: %v", number, err)
		w = woken(t, u, shared)
		closeLater(t, w)
	}
}

// walledIn makes the home in a directory that is there.
type walledIn struct {
	walled
	base string
}

func (w walledIn) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	return w.startIn(ctx, spec, filepath.Join(w.base, "home"))
}

// What is the server's own is covered wherever it lies: neither names nor sizes of what
// others have in it can be seen, and its own the session reaches.
func TestOthersAreNotSeen(t *testing.T) {
	needNamespaces(t)
	base := openDir(t, "/var/tmp") // covered for no other reason
	sibling := filepath.Join(base, "sibling")
	must(t, os.WriteFile(sibling, nil, 0o644))
	wall, behind := testWall(t, sandbox.Settings{Python: []string{filepath.Join(base, "lib")}, Hidden: []string{base}})
	w := workertest.Start(t, walledIn{walled{testSpawner(t, behind), wall, t}, base})
	expectPrinted(t, w, fmt.Sprintf("import os; print(os.path.lexists(%q), open(%q, 'w').write('mine'))", sibling, filepath.Join(base, "home", "tmp", "mine")), "False 4\n")
}

// Where a home is below /tmp, on the way to it lie directories in the session's own
// /tmp, and code can put links in their place: none is followed, and the next start of
// its session doesn't fail for it.
func TestLinksOnTheWayInTmp(t *testing.T) {
	needNamespaces(t)
	base := openDir(t, "/tmp")
	wall, behind := testWall(t, sandbox.Settings{Hidden: []string{base}})
	starter := walledIn{walled{testSpawner(t, behind), wall, t}, base}
	const code = "import os; d = os.open(%q, os.O_RDONLY); n = %q; os.rename(n, n + str(os.getpid()), src_dir_fd=d, dst_dir_fd=d); os.symlink('/usr/lib', n, dir_fd=d); print(os.readlink(n, dir_fd=d))"
	for range 2 {
		w := workertest.Start(t, starter)
		expectPrinted(t, w, fmt.Sprintf(code, filepath.Join(base, "home", "tmp"), filepath.Base(base)), "/usr/lib\n")
		must(t, w.Close(context.Background()))
	}
}

// What may only be read stays as it is in a directory that may be written to, and so
// does all that it is in.
func TestReadOnlyInsideWritable(t *testing.T) {
	needNamespaces(t)
	base := openDir(t, "/var/tmp")
	kept := filepath.Join(base, "envs", "kept")
	must(t, os.MkdirAll(kept, 0o777))
	for _, dir := range []string{base, filepath.Dir(kept), kept} {
		must(t, os.Chmod(dir, 0o777))
	}
	w := spawnedBehind(t, sandbox.Settings{Read: []string{kept}, Write: []string{base}})
	expectPrinted(t, w, fmt.Sprintf(`
import os
base = %q
for what in (lambda: open(base + "/envs/kept/new", "w"), lambda: os.rename(base + "/envs/kept", base + "/old"), lambda: os.rename(base + "/envs", base + "/old")):
    try:
        what()
        print("open")
    except OSError as error:
        print("stopped")
open(base + "/envs/beside", "w").close()
`, base), "stopped\nstopped\nstopped\n")
}

// What is the server's own can't be read where the system is, and all else there can.
func TestSecretsBelowTheSystem(t *testing.T) {
	host, err := hostOf()
	must(t, err)
	without := host
	without.Landlock = 0
	for name, host := range map[string]sandbox.Host{"by Landlock": host, "by the view": without} {
		t.Run(name, func(t *testing.T) {
			if host.Landlock == 0 && (name == "by Landlock" || host.NoNamespaces != "") {
				t.Skip("this machine has none")
			}
			wall, behind := wallOn(t, host, sandbox.Settings{Secrets: []string{"/etc/group"}})
			w := workertest.Start(t, walled{testSpawner(t, behind), wall, t})
			expectPrinted(t, w, `
import os
for name in ("passwd", "group"):
    try:
        print(name in os.listdir("/etc"), len(open("/etc/" + name).read(1)))
    except PermissionError:
        print("stopped")
`, "True 1\nstopped\n")
		})
	}
}
