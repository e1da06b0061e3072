package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// testZygote returns a Zygote that is closed with the test, its forkers up and
// warm. Its zygote imports little unless it is told otherwise.
func testZygote(t testing.TB, change ...func(*Options)) *Zygote {
	t.Helper()
	z := coldZygote(t, change...)
	z.Warm()
	eventually(t, "root and zygote come up", func() bool { return z.forkerNow("zygote") != nil && z.forkerNow("root") != nil })
	return z
}

func coldZygote(t testing.TB, change ...func(*Options)) *Zygote {
	t.Helper()
	options := Options{
		Python: workertest.Python(t), LibraryDir: filepath.Join(t.TempDir(), "lib"), Echo: "none",
		Preload: []string{"decimal"}, CheckpointShare: 0.5,
	}
	for _, change := range change {
		change(&options)
	}
	z := NewZygote(options)
	closeLater(t, z)
	return z
}

// Nobody is told of a root that is not started because the server is stopping.
func TestStoppingIsNoFailure(t *testing.T) {
	var log bytes.Buffer
	z := coldZygote(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	must(t, z.Close(t.Context()))
	z.forkers.root.fill()
	if !errors.Is(z.forkers.root.failure, errClosed) || log.Len() > 0 {
		t.Errorf("%v; the log: %s", z.forkers.root.failure, &log)
	}
}

// forkerNow returns the living root or zygote.
func (s *Spawner) forkerNow(name string) *forker {
	if s.forkers == nil {
		return nil
	}
	s.forkers.mu.Lock()
	defer s.forkers.mu.Unlock()
	it := map[string]*forker{"root": s.forkers.root.holder, "zygote": s.forkers.zygote.holder}[name]
	if it == nil || !it.alive() {
		return nil
	}
	return it
}

func parentOf(t testing.TB, pid int) int {
	t.Helper()
	p, ok := proc.Read(pid)
	insist(t, ok, "there is no process %d", pid)
	return p.Parent
}

func TestZygote(t *testing.T) {
	z := testZygote(t)
	workertest.Suite(t, func(testing.TB) sessions.Starter { return z })
}

// A start before the zygote is warm is the root's, at once; one before there is
// a root waits for it.
func TestZygoteForksFromWhatThereIs(t *testing.T) {
	library := t.TempDir()
	must(t, os.WriteFile(filepath.Join(library, "slow.py"), []byte("import time; time.sleep(1000)"), 0o600))
	t.Setenv("PYTHONPATH", library)
	z := coldZygote(t, func(o *Options) { o.Preload = []string{"slow"} })
	z.forkers.patience = time.Minute // a busy machine may take longer than it has
	w := workertest.Start(t, z)
	insist(t, z.forkerNow("zygote") == nil, "a zygote is warm that can't be")
	parent, root := parentOf(t, w.Info().PID), z.forkerNow("root")
	expect(t, root != nil && parent == root.process.pid, "the parent is %d, not the root", parent)
	origin := w.Info().Origin
	expect(t, origin == "root", "it says that it was made from %q", origin)
}

// copyOf copies a worker to stand by.
func copyOf(t testing.TB, w sessions.Worker) sessions.Understudy {
	t.Helper()
	u, err := w.Fork(context.Background(), sessions.ToStandBy)
	must(t, err)
	t.Cleanup(u.Dismiss)
	return u
}

// mustNotFork fails unless a worker can be copied for no purpose, for this reason.
func mustNotFork(t testing.TB, w sessions.Worker, reason string) {
	t.Helper()
	for _, purpose := range []sessions.Purpose{sessions.ToStandBy, sessions.ToBranch} {
		var refused *sessions.ForkError
		_, err := w.Fork(context.Background(), purpose)
		expect(t, errors.As(err, &refused) && strings.Contains(refused.Reason, reason), "the fork: %v", err)
	}
}

// wake wakes a copy whose worker is closed then, as a session does.
func wake(t testing.TB, dead sessions.Worker, u sessions.Understudy) sessions.Worker {
	t.Helper()
	w, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir()})
	must(t, err)
	fine(t, dead.Close(context.Background()))
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w
}

// However a worker dies, its copy has the variables, and what was printed is
// there.
func TestUnderstudyTakesOver(t *testing.T) {
	z := testZygote(t)
	for name, death := range map[string]string{
		"segfault": "import ctypes; ctypes.string_at(0)",
		"abort":    "import os; os.abort()",
		"exit":     "import os; os._exit(3)",
		"kill":     "import os; os.kill(os.getpid(), 9)",
		"group":    "import os; os.killpg(0, 9)",
		"lost":     "import os; os.closerange(3, 65536)",
	} {
		t.Run(name, func(t *testing.T) {
			w := started(t, z, "x = [1]")
			for range 3 {
				u := copyOf(t, w)
				_, sink := workertest.RunToDeath(t, w, "x.append(2); print('before')\n"+death)
				got := sink.Text(sessions.Stdout)
				expect(t, got == "before\n", "stdout is %q", got)
				w = wake(t, w, u)
				expectPrinted(t, w, "print(x)", "[1]\n")
			}
		})
	}
}

// A copy is not seen by the code, whatever it waits for, and not met by the
// signals of its group.
func TestUnderstudyIsUnseen(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	u := copyOf(t, w)
	expectPrinted(t, w, `
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
if os.fork() == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]))
try: os.wait()
except ChildProcessError as e: print(e)
`, "7\n[Errno 10] No child processes\n")
	mustLive(t, u.(*understudy).process.pid)
	w.Kill()
	expectPrinted(t, wake(t, w, u), "print(1)", "1\n")
}

// A copy lives as long as it may be wanted, and no longer.
func TestUnderstudyIsDismissed(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	var copies []sessions.Understudy
	for range 3 {
		copies = append(copies, copyOf(t, w))
	}
	copies[0].Dismiss()
	<-copies[0].Exited()
	mustLive(t, copies[1].(*understudy).process.pid)
	_, err := copies[0].Wake(context.Background(), sessions.Spec{})
	expect(t, errors.Is(err, errOver), "got %v", err)
	copies[1].Dismiss()
	stopped := copies[2].(*understudy).process.pid
	must(t, unix.Kill(stopped, unix.SIGSTOP))
	copies[2].Dismiss()
	must(t, w.Close(context.Background()))
	mustBeGone(t, stopped, copies[1].(*understudy).process.pid, w.Info().PID)
}

func branchOf(t testing.TB, w sessions.Worker, dir string) sessions.Worker {
	t.Helper()
	u, err := w.Fork(context.Background(), sessions.ToBranch)
	must(t, err)
	b, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "branch", Workdir: dir, PrivateDir: dir})
	must(t, err)
	closeLater(t, b)
	return b
}

// A branch has its own pipes, directory and kin, and so has its branch.
func TestBranch(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	_, sink := workertest.Run(t, w, "x = [1]\n"+oneChild)
	child := pids(t, sink)[0]
	dir := t.TempDir()
	b := branchOf(t, w, dir)
	expectPrinted(t, b, "x.append(2); import os; print(x, os.getcwd())", "[1, 2] "+dir+"\n")
	expectPrinted(t, w, "print(x)", "[1]\n")
	c := branchOf(t, b, t.TempDir())
	_, sink = workertest.Run(t, b, oneChild)
	own := pids(t, sink)[0]
	root := z.forkerNow("root").process.pid
	expect(t, parentOf(t, b.Info().PID) == root && parentOf(t, c.Info().PID) == root, "a branch is not the root's child")
	w.Kill()
	mustBeGone(t, child)
	mustLive(t, own)
	expectPrinted(t, b, "print(x)", "[1, 2]\n")
	b.Kill()
	mustBeGone(t, own)
	expectPrinted(t, c, "print(x)", "[1, 2]\n")
	crash, _ := workertest.RunToDeath(t, c, "import os; os.abort()")
	expect(t, crash.Signal == "SIGABRT", "a branch's end is told as %+v", crash)
}

// What can't be copied says why, and lives on.
func TestForkIsRefused(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	outcome, _ := workertest.Run(t, w, "import threading; stop = threading.Event()\nthread = threading.Thread(target=stop.wait, name='waiter'); thread.start()")
	expect(t, strings.Contains(outcome.Obstacle, "waiter"), "the obstacle is %q", outcome.Obstacle)
	mustNotFork(t, w, "waiter")
	if outcome, _ := workertest.Run(t, w, "stop.set(); thread.join()"); outcome.Obstacle != "" {
		t.Errorf("the obstacle is %q", outcome.Obstacle)
	}
	copyOf(t, w)
}

func TestForkOfASpawnedWorker(t *testing.T) {
	w := start(t, testSpawner(t))
	mustNotFork(t, w, "--start spawn")
}

// A fork that takes too long is given up; the worker lives on and is not
// confused by the late answer.
func TestForkTimesOut(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	resume, err := w.(*worker).process.pause()
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var refused *sessions.ForkError
	if _, err := w.Fork(ctx, sessions.ToStandBy); !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	resume()
	expectPrinted(t, w, "print(1)", "1\n")
	if _, err := w.Variables(context.Background()); err != nil {
		t.Error(err)
	}
	copyOf(t, w)
}

// A thousand copies leave neither descriptors nor processes.
func TestManyCopiesLeaveNothing(t *testing.T) {
	z := testZygote(t)
	w := workertest.Start(t, z)
	cycle := func() {
		u := copyOf(t, w)
		branch := branchOf(t, w, t.TempDir())
		must(t, branch.Close(context.Background()))
		workertest.RunToDeath(t, w, "import os; os.abort()")
		w = wake(t, w, u)
	}
	cycle()
	descriptors := openDescriptors(t)
	for range 20 {
		cycle()
	}
	// The reaper has some of its own while it looks for the dead.
	eventually(t, "descriptors are given back", func() bool { return openDescriptors(t) <= descriptors })
	root := z.forkerNow("root").process.pid
	eventually(t, "the root has reaped all", func() bool {
		mine, _ := proc.ChildrenOf(root)
		return len(mine) == 2 && slices.Contains(mine, w.Info().PID) // and the zygote
	})
	workers, forkers := z.registry.All(proc.Worker), z.registry.All(proc.Forker)
	expect(t, len(workers) == 1 && len(forkers) == 2, "known are the workers %v and the forkers %v", workers, forkers)
}

// Who is in our session has our terminal, whatever rights there are to its device.
func TestNobodyIsInOurSession(t *testing.T) {
	wall, behind := testWall(t, sandbox.Settings{})
	z := testZygote(t, behind)
	pids := map[string]int{
		"root": z.forkerNow("root").process.pid, "zygote": z.forkerNow("zygote").process.pid,
		"forked": workertest.Start(t, walled{z, wall, t}).Info().PID, "spawned": start(t, testSpawner(t)).info.PID,
	}
	ours, err := unix.Getsid(0)
	must(t, err)
	for name, pid := range pids {
		if session, err := unix.Getsid(pid); err != nil || session == ours {
			t.Errorf("%s: session %d, %v", name, session, err)
		}
		if group, err := unix.Getpgid(pid); name != "zygote" && group != pid || err != nil {
			t.Errorf("%s: process %d is in group %d, %v", name, pid, group, err)
		}
	}
}
