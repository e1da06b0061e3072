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

// testWall returns a wall as the server would build it for the tests' Python.
func testWall(t testing.TB, settings sandbox.Settings) *sandbox.Wall {
	t.Helper()
	host, err := hostOf()
	if err != nil {
		t.Fatal(err)
	}
	return wallOn(t, host, settings)
}

// wallOn returns it for a host that allows this.
func wallOn(t testing.TB, host sandbox.Host, settings sandbox.Settings) *sandbox.Wall {
	t.Helper()
	python := workertest.Python(t)
	settings.Mode = sandbox.Standard
	resolved, err := filepath.EvalSymlinks(python)
	if err != nil {
		t.Fatal(err)
	}
	settings.Python = append(settings.Python, filepath.Dir(filepath.Dir(python)), filepath.Dir(filepath.Dir(resolved)))
	w, err := sandbox.New(settings, host)
	if err != nil {
		t.Fatal(err)
	}
	return w
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
	workertest.Suite(t, func(t testing.TB) sessions.Starter {
		library := filepath.Join(t.TempDir(), "lib")
		wall := testWall(t, sandbox.Settings{Python: []string{library}})
		return walled{testZygote(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t}
	})
}

func TestSpawnedBehindTheWall(t *testing.T) {
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}})
	w := workertest.Start(t, walled{testSpawner(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t})
	_, sink := workertest.Run(t, w, "import os, socket; print(os.path.exists('/root'), os.getuid() != 0, socket.create_server(('127.0.0.1', 8000)).getsockname()[1])\n"+
		"import ctypes; number = ctypes.c_int(); _ = ctypes.CDLL(None).prctl(2, ctypes.byref(number)); print(number.value)") // PR_GET_PDEATHSIG
	if got := strings.TrimSpace(sink.Text(sessions.Stdout)); got != "True True 8000\n9" {
		t.Errorf("got %q", got)
	}
}

// The operator names indexes of packages, and keeps the passwords for them.
func TestIndexesReachSessionsWithoutPasswords(t *testing.T) {
	for name, value := range map[string]string{
		"PIP_INDEX_URL": "https://index.corp.example/simple/", "PIP_EXTRA_INDEX_URL": "https://a.example/ https://me:secret@b.example/",
		"UV_INDEX_URL": "https://secret@c.example/", "UV_DEFAULT_INDEX": "corp=https://index.corp.example/simple/?token=secret", "AWS_SECRET_ACCESS_KEY": "secret",
	} {
		t.Setenv(name, value)
	}
	wall := testWall(t, sandbox.Settings{})
	s := testSpawner(t, func(o *Options) { o.Wall = wall })
	env := s.environment("/lib", s.nonce.Mark("id", 1))
	if !slices.Contains(env, "PIP_INDEX_URL=https://index.corp.example/simple/") || strings.Contains(strings.Join(env, "\n"), "secret") {
		t.Errorf("%q", env)
	}
}

// A copy that steps in, and a branch, are behind the wall of their original.
func TestCopiesStayBehindTheWall(t *testing.T) {
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}})
	z := testZygote(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall })
	w := workertest.Start(t, walled{z, wall, t})
	const escape = "try:\n  print(open('/var/escape', 'w'))\nexcept OSError:\n  print('stopped')"
	for _, purpose := range []sessions.Purpose{sessions.ToBranch, sessions.ToStandBy} {
		u, err := w.Fork(context.Background(), purpose)
		if err != nil {
			t.Fatal(err)
		}
		if purpose == sessions.ToStandBy {
			w.Kill()
		}
		woken, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: os.TempDir(), FirstExecution: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, sink := workertest.Run(t, woken, escape)
		if got := strings.TrimSpace(sink.Text(sessions.Stdout)); got != "stopped" {
			t.Errorf("purpose %d: got %q", purpose, got)
		}
		if err := woken.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// However a worker comes to be, it has its tag before it may be another user's, to whom a
// root without CAP_SYS_RESOURCE could not give one.
func TestTagsAreTaken(t *testing.T) {
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}})
	change := func(o *Options) { o.LibraryDir, o.Wall = library, wall }
	tagged := func(how string, started sessions.Worker) {
		w := started.(*worker)
		if !proc.HasTag(w.process.pid, w.line.kin.Mark.Tag) {
			t.Errorf("%s has no tag", how)
		}
	}
	tagged("a spawned one", workertest.Start(t, walled{testSpawner(t, change), wall, t}))
	forked := workertest.Start(t, walled{testZygote(t, change), wall, t})
	tagged("a forked one", forked)
	u, err := forked.Fork(context.Background(), sessions.ToBranch)
	if err != nil {
		t.Fatal(err)
	}
	branch, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: os.TempDir(), FirstExecution: 2})
	if err != nil {
		t.Fatal(err)
	}
	tagged("a branch", branch)
	if err := branch.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Where root runs all code as one user, and code can't change its tag, branches can be
// branched too.
func TestBranchesOfOneUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs code as another user")
	}
	const somebody = 65534
	shared := t.TempDir()
	if err := os.Chown(shared, somebody, somebody); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}, Shared: shared})
	starter := walled{testZygote(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t}
	w := workertest.StartIn(t, starter, shared)
	for number := range 2 {
		u, err := w.Fork(context.Background(), sessions.ToBranch)
		if err != nil {
			t.Fatalf("branch %d: %v", number, err)
		}
		branch, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: shared, FirstExecution: 2})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := branch.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		w = branch
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
	host, err := hostOf()
	if err != nil {
		t.Fatal(err)
	}
	if host.NoNamespaces != "" {
		t.Skip(host.NoNamespaces)
	}
	base, err := os.MkdirTemp("/var/tmp", "data-") // covered for no other reason
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	sibling, library := filepath.Join(base, "sibling"), filepath.Join(base, "lib")
	if err := os.WriteFile(sibling, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	wall := testWall(t, sandbox.Settings{Python: []string{library}, Hidden: []string{base}})
	w := workertest.Start(t, walledIn{walled{testSpawner(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t}, base})
	code := fmt.Sprintf("import os; print(os.path.lexists(%q), open(%q, 'w').write('mine'))", sibling, filepath.Join(base, "home", "tmp", "mine"))
	_, sink := workertest.Run(t, w, code)
	if got := strings.TrimSpace(sink.Text(sessions.Stdout)); got != "False 4" {
		t.Errorf("got %q, %s", got, sink.Text(sessions.Stderr))
	}
}

// Where a home is below /tmp, on the way to it lie directories in the session's own
// /tmp, and code can put links in their place: none is followed, and the next start of
// its session doesn't fail for it.
func TestLinksOnTheWayInTmp(t *testing.T) {
	host, err := hostOf()
	if err != nil {
		t.Fatal(err)
	}
	if host.NoNamespaces != "" {
		t.Skip(host.NoNamespaces)
	}
	base, err := os.MkdirTemp("/tmp", "below-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}, Hidden: []string{base}})
	starter := walledIn{walled{testSpawner(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t}, base}
	const code = "import os; d = os.open(%q, os.O_RDONLY); n = %q; os.rename(n, n + str(os.getpid()), src_dir_fd=d, dst_dir_fd=d); os.symlink('/usr/lib', n, dir_fd=d); print(os.readlink(n, dir_fd=d))"
	for range 2 {
		w := workertest.Start(t, starter)
		_, sink := workertest.Run(t, w, fmt.Sprintf(code, filepath.Join(base, "home", "tmp"), filepath.Base(base)))
		if got := strings.TrimSpace(sink.Text(sessions.Stdout)); got != "/usr/lib" {
			t.Fatalf("got %q, %s", got, sink.Text(sessions.Stderr))
		}
		if err := w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// What may only be read stays as it is in a directory that may be written to, and so
// does all that it is in.
func TestReadOnlyInsideWritable(t *testing.T) {
	host, err := hostOf()
	if err != nil {
		t.Fatal(err)
	}
	if host.NoNamespaces != "" {
		t.Skip(host.NoNamespaces)
	}
	base, err := os.MkdirTemp("/var/tmp", "project-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	kept := filepath.Join(base, "envs", "kept")
	if err := os.MkdirAll(kept, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{base, filepath.Dir(kept), kept} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(t.TempDir(), "lib")
	wall := testWall(t, sandbox.Settings{Python: []string{library}, Read: []string{kept}, Write: []string{base}})
	w := workertest.Start(t, walled{testSpawner(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t})
	_, sink := workertest.Run(t, w, fmt.Sprintf(`
import os
base = %q
for what in (lambda: open(base + "/envs/kept/new", "w"), lambda: os.rename(base + "/envs/kept", base + "/old"), lambda: os.rename(base + "/envs", base + "/old")):
    try:
        what()
        print("open")
    except OSError as error:
        print("stopped")
open(base + "/envs/beside", "w").close()
`, base))
	if got := strings.Fields(sink.Text(sessions.Stdout)); !slices.Equal(got, []string{"stopped", "stopped", "stopped"}) {
		t.Errorf("got %q, %s", got, sink.Text(sessions.Stderr))
	}
}

// What is the server's own can't be read where the system is, and all else there can.
func TestSecretsBelowTheSystem(t *testing.T) {
	host, err := hostOf()
	if err != nil {
		t.Fatal(err)
	}
	without := host
	without.Landlock = 0
	for name, host := range map[string]sandbox.Host{"by Landlock": host, "by the view": without} {
		t.Run(name, func(t *testing.T) {
			if host.Landlock == 0 && (name == "by Landlock" || host.NoNamespaces != "") {
				t.Skip("this machine has none")
			}
			library := filepath.Join(t.TempDir(), "lib")
			wall := wallOn(t, host, sandbox.Settings{Python: []string{library}, Secrets: []string{"/etc/group"}})
			w := workertest.Start(t, walled{testSpawner(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall }), wall, t})
			_, sink := workertest.Run(t, w, `
import os
for name in ("passwd", "group"):
    try:
        print(name in os.listdir("/etc"), len(open("/etc/" + name).read(1)))
    except PermissionError:
        print("stopped")
`)
			if got := sink.Text(sessions.Stdout); got != "True 1\nstopped\n" {
				t.Errorf("got %q, %s", got, sink.Text(sessions.Stderr))
			}
		})
	}
}
