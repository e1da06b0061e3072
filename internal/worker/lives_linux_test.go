package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// The lives of processes: each of these tests is a row of the table in
// docs/architecture.md that says who may die, or stop, and what is done then.

func kill(t testing.TB, pid int, signal syscall.Signal) {
	t.Helper()
	must(t, unix.Kill(pid, signal))
}

// mustServe fails unless a session goes on, can be copied and restored, and is
// seen to end.
func mustServe(t testing.TB, w sessions.Worker, before string) {
	t.Helper()
	expectPrinted(t, w, "print(x)", before)
	u := copyOf(t, w)
	crash, _ := workertest.RunToDeath(t, w, "x = None; import os; os.kill(os.getpid(), 11)")
	expect(t, crash.Signal == "SIGSEGV", "the end was told as %+v", crash)
	w = wake(t, w, u)
	expectPrinted(t, w, "print(x)", before)
	crash, _ = workertest.RunToDeath(t, w, "import os; os._exit(9)")
	expect(t, crash.ExitCode == 9, "the end was told as %+v", crash)
}

// Whichever of the forkers dies, or all of them, sessions live on, and so do
// those that start then and later.
func TestForkersDie(t *testing.T) {
	for name, victims := range map[string][]string{
		"zygote": {"zygote"}, "root": {"root"}, "root and zygote": {"root", "zygote"}, "zygote and root": {"zygote", "root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := testZygote(t)
			old, idle := started(t, z, "x = 1"), started(t, z, "x = 2")
			former := map[string]int{}
			for _, victim := range victims {
				former[victim] = z.forkerNow(victim).process.pid
			}
			for _, victim := range victims {
				kill(t, former[victim], unix.SIGKILL)
			}
			early := started(t, z, "x = 3")
			mustServe(t, old, "1\n")
			eventually(t, "the forkers are replaced", func() bool {
				root, zygote := z.forkerNow("root"), z.forkerNow("zygote")
				return root != nil && zygote != nil && root.process.pid != former["root"] && zygote.process.pid != former["zygote"]
			})
			mustServe(t, early, "3\n")
			mustServe(t, started(t, z, "x = 4"), "4\n")
			// A child that is orphaned only now is still found.
			_, sink := workertest.Run(t, idle, "print(x)\n"+lostChildren)
			_, rest, _ := strings.Cut(sink.All(), "\n")
			lost := workertest.NewRecorder()
			lost.Output(sessions.Stdout, []byte(rest))
			idle.Kill()
			mustBeGone(t, pids(t, lost)...)
		})
	}
}

// A forker that is stopped is waited for as long as a start may take, ended and
// replaced.
func TestForkersStop(t *testing.T) {
	for name, victims := range map[string][]string{"zygote": {"zygote"}, "root": {"root"}, "both": {"root", "zygote"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := testZygote(t)
			old := started(t, z, "x = 1")
			for _, victim := range victims {
				kill(t, z.forkerNow(victim).process.pid, unix.SIGSTOP)
			}
			mustServe(t, started(t, z, "x = 2"), "2\n")
			mustServe(t, old, "1\n")
		})
	}
}

// A root that somebody has stopped goes on by itself: stopped, it would not notice
// that the server was killed.
func TestStoppedRootGoesOn(t *testing.T) {
	for name, start := range map[string]func(...func(*Options)) *Spawner{
		"of a zygote": func(o ...func(*Options)) *Spawner { return testZygote(t, o...).Spawner },
		"guard":       func(o ...func(*Options)) *Spawner { return testSpawner(t, o...) },
	} {
		t.Run(name, func(t *testing.T) {
			log := &syncedLog{}
			s := start(func(o *Options) { o.Guard, o.Logger = true, slog.New(slog.NewTextHandler(log, nil)) })
			s.Warm()
			pid := s.awaitForker("root", 0)
			kill(t, pid, unix.SIGSTOP)
			eventually(t, "it was stopped, and goes on", func() bool {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return strings.Contains(log.String(), "had been stopped") && err == nil && !strings.Contains(string(stat), ") T ")
			})
		})
	}
}

// An understudy that was killed can't be woken, and says so at once; one that
// was stopped can.
func TestUnderstudyDiesOrStops(t *testing.T) {
	z := testZygote(t)
	w := started(t, z, "x = 1")
	dead, stopped := copyOf(t, w), copyOf(t, w)
	kill(t, dead.(*understudy).process.pid, unix.SIGKILL)
	kill(t, stopped.(*understudy).process.pid, unix.SIGSTOP)
	<-dead.Exited()
	w.Kill()
	_, err := dead.Wake(context.Background(), sessions.Spec{})
	expect(t, err != nil, "a dead copy woke")
	mustServe(t, wake(t, w, stopped), "1\n")
}

// A worker that stops itself is killed at its time limit, as any other.
func TestStoppedWorkerIsKilled(t *testing.T) {
	z := testZygote(t)
	w := started(t, z, "x = 1")
	u := copyOf(t, w)
	_, ended := workertest.Begin(t, w, "x = 2; import os, signal; print('stopping', flush=True); os.kill(os.getpid(), signal.SIGSTOP)")
	w.Kill()
	var crash *sessions.CrashError
	end := <-ended
	expect(t, errors.As(end.Err, &crash), "got %v", end.Err)
	mustServe(t, wake(t, w, u), "1\n")
}

// A child that holds every descriptor of a dead worker delays nobody and ends
// with it, in whatever session and group it is.
func TestChildrenOfADeadWorker(t *testing.T) {
	z := testZygote(t)
	w := started(t, z, "x = 1")
	u := copyOf(t, w)
	_, sink := workertest.RunToDeath(t, w, `
import os, subprocess
for leave in (os.getpid, os.setsid, os.setpgrp):
    pid = os.fork()
    if pid == 0:
        leave()
        os.read(os.pipe()[0], 1)
    print(pid)
print(subprocess.Popen(["setsid", "sleep", "1000"]).pid)
os.abort()
`)
	found := pids(t, sink)
	mustBeGone(t, found...)
	mustServe(t, wake(t, w, u), "1\n")
}

// With no descriptor left in the server a session can't be started or copied,
// and says why; those that live go on, and so do new ones later.
func TestServerWithoutDescriptors(t *testing.T) {
	z := testZygote(t)
	w := started(t, z, "x = 1")
	free := exhaustDescriptors(t)
	_, err := z.Start(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: os.TempDir()})
	expect(t, err != nil && strings.Contains(err.Error(), "files open, and keeps 64 for what runs already"), "the start: %v", err)
	mustNotFork(t, w, "")
	expectPrinted(t, w, "print(x)", "1\n")
	free()
	mustServe(t, w, "1\n")
	mustServe(t, started(t, z, "x = 1"), "1\n")
}

func started(t testing.TB, s sessions.Starter, code string) sessions.Worker {
	t.Helper()
	w := workertest.Start(t, s)
	workertest.Run(t, w, code)
	return w
}

// exhaustDescriptors opens files until this process may open no more.
func exhaustDescriptors(t testing.TB) (free func()) {
	t.Helper()
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = uint64(openDescriptors(t)) + 20
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	var all []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		all = append(all, fd)
	}
	return func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
		fine(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	}
}

// Code that uses up its own descriptors costs the copy, with a reason, and the
// call nothing.
func TestWorkerWithoutDescriptors(t *testing.T) {
	z := testZygote(t)
	w := started(t, z, `
import os, resource
x = 1
kept = []
resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    while True: kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError: pass
`)
	mustNotFork(t, w, "too many files are open")
	workertest.Run(t, w, "for fd in kept: os.close(fd)")
	mustServe(t, w, "1\n")
}

// A worker that may not fork can't be copied, and says why. It gives up the
// rights that would let it fork all the same.
func TestWorkerThatMayNotFork(t *testing.T) {
	z := testZygote(t)
	w := started(t, z, `
import os, resource
x = 1
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.getuid() == 0: os.setresuid(65534, 65534, 65534)
`)
	mustNotFork(t, w, "fork failed: Resource temporarily unavailable")
	expectPrinted(t, w, "print(x)", "1\n")
}

// A root and a zygote that may not fork, as on a machine that is full of
// processes, cost the session its fast start and nothing else: it is spawned,
// and it goes on.
func TestForkersThatMayNotFork(t *testing.T) {
	z := testZygote(t)
	old := started(t, z, "x = 1")
	release := forbidForks(t, z.forkerNow("root").process.pid, z.forkerNow("zygote").process.pid)
	w := started(t, z, "x = 2")
	parent := parentOf(t, w.Info().PID)
	expect(t, parent == os.Getpid(), "the parent is %d, not the server", parent)
	mustServe(t, w, "2\n")
	release()
	mustServe(t, old, "1\n")
	mustServe(t, started(t, z, "x = 3"), "3\n")
}

// forbidForks makes fork fail with EAGAIN in the processes: by a control group,
// or by a limit that does not bind the superuser.
func forbidForks(t testing.TB, pids ...int) (release func()) {
	t.Helper()
	if os.Getuid() != 0 {
		for _, pid := range pids {
			setProcessLimit(t, pid, 0)
		}
		return func() {
			for _, pid := range pids {
				setProcessLimit(t, pid, unix.RLIM_INFINITY)
			}
		}
	}
	const controller = "/sys/fs/cgroup/pids"
	group := filepath.Join(controller, fmt.Sprintf("understudy-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("neither a limit nor a control group can keep the superuser from forking here: %v", err)
	}
	join := func(group string) {
		for _, pid := range pids {
			must(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
		}
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	must(t, os.WriteFile(filepath.Join(group, "pids.max"), []byte("0"), 0))
	join(group)
	return func() { join(controller) }
}

func setProcessLimit(t testing.TB, pid int, soft uint64) {
	t.Helper()
	var limit unix.Rlimit
	must(t, unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &limit))
	limit.Cur = min(soft, limit.Max)
	must(t, unix.Prlimit(pid, unix.RLIMIT_NPROC, &limit, nil))
}

// A copy that is killed in the moment it is woken costs its session, at once,
// and nobody else: least of all this process and its group.
func TestUnderstudyDiesAsItWakes(t *testing.T) {
	z := testZygote(t)
	for i := range 30 {
		w := workertest.Start(t, z)
		u := copyOf(t, w)
		w.Kill()
		kill(t, u.(*understudy).process.pid, unix.SIGKILL)
		for at := time.Now(); time.Since(at) < time.Duration(i)*50*time.Microsecond; { // all moments of its end
		}
		_, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test"})
		insist(t, err != nil, "a dead copy woke")
		fine(t, w.Close(context.Background()))
		root := w.(*worker).line.kin.Root.PID
		expect(t, root > 1, "the kin of process %d would be killed", root)
	}
}

// A copy's word is not taken for who it is: the code may have changed anything.
func TestCopyThatLiesAboutItself(t *testing.T) {
	z := testZygote(t)
	stranger := exec.Command("sleep", "1000")
	must(t, stranger.Start())
	t.Cleanup(func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	})
	w := started(t, z, fmt.Sprintf("x = 1\nimport sys\ncopies = sys.modules['pyworker.fork.sleep']._sleep\n"+
		"copies._hello = [(b'%%10d' %% %d).join(copies._hello)]", stranger.Process.Pid))
	mustNotFork(t, w, "none of its copies")
	expectPrinted(t, w, "print(x)", "1\n")
	fine(t, w.Close(context.Background()))
	mustLive(t, stranger.Process.Pid)
}

// While this process can't look, as without descriptors, it does not believe
// that nobody is there.
func TestKinAreFoundOnceThereAreDescriptors(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	_, sink := workertest.Run(t, w, lostChildren)
	found := pids(t, sink)
	free := exhaustDescriptors(t)
	ended := make(chan struct{})
	go func() {
		w.Kill()
		close(ended)
	}()
	eventually(t, "the worker dies", func() bool { return w.(*worker).process.dies(0) })
	free()
	<-ended
	mustBeGone(t, found...)
}

// TestUsage: the memory of a process is told while it lives.
func TestUsage(t *testing.T) {
	w := workertest.Start(t, testZygote(t))
	before := w.Resident()
	expect(t, before >= 1<<20, "%d bytes", before)
	const size = 64 << 20
	workertest.Run(t, w, fmt.Sprintf("x = b'x' * %d", size))
	grown := w.Resident() - before
	expect(t, grown >= size && grown <= 2*size, "it grew by %d bytes", grown)
	if usage, err := w.Usage(); err != nil || usage.Memory < size || usage.Private < size {
		t.Errorf("%+v, %v", usage, err)
	}
	workertest.RunToDeath(t, w, "import os; os._exit(9)")
	if _, err := w.Usage(); err == nil {
		t.Error("a dead worker uses something")
	}
	after := w.Resident()
	expect(t, after == 0, "%d bytes of a process that has ended", after)
}
