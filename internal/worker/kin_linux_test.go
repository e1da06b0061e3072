package worker

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// Python that starts children in every way they might get lost by. Each prints
// the ids of those that stay.
const (
	oneChild = `
import subprocess
print(subprocess.Popen(["sleep", "1000"]).pid, flush=True)
`
	fiftyChildren = `
import os, time
for _ in range(50):
    pid = os.fork()
    if pid == 0:
        while True: time.sleep(1)
    print(pid, flush=True)
`
	// A tree that doubles for ever, slowly enough for this machine.
	forkBomb = `
import os, time
print(os.getpid(), flush=True)
while True:
    os.fork()
    os.setsid() if os.getpid() % 3 == 0 and os.getsid(0) != os.getpid() and os.getpgrp() != os.getpid() else None
    time.sleep(0.2)
`
	// Orphans in sessions of their own, without our environment.
	lostChildren = `
import os, subprocess, sys
orphan = '''
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
print(os.getpid(), flush=True)
os.execve("/bin/sleep", ["sleep", "1000"], {})
'''
for _ in range(3):
    child = subprocess.Popen([sys.executable, "-c", orphan], env={}, stdout=subprocess.PIPE)
    print(child.stdout.readline().decode(), end="", flush=True)
    child.wait()
`
)

// pids reads the ids that such code has printed.
func pids(t *testing.T, sink *workertest.Recorder) []int {
	t.Helper()
	var pids []int
	for _, field := range strings.Fields(sink.Text(sessions.Stdout)) {
		pid, err := strconv.Atoi(field)
		insist(t, err == nil, "not an id: %q", field)
		pids = append(pids, pid)
	}
	insist(t, len(pids) != 0, "the code printed no ids")
	return pids
}

func alive(pid int) bool {
	p, ok := proc.Read(pid)
	return ok && !p.Dead
}

// mustBeGone fails for processes that live. They must be gone at once: who
// ended them has waited for that.
func mustBeGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func mustLive(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		expect(t, alive(pid), "process %d does not live", pid)
	}
}

// strangersView are the ids of a worker's living kin, without itself, as one sees them who
// has seen none before: for workers that no copy has followed, and without users of their own.
func strangersView(t *testing.T, w *worker, pid int, mark proc.Mark) map[int]bool {
	t.Helper()
	all, known := proc.NewKin(pid, mark, w.spawner.registry, w.log).Living()
	insist(t, known, "they can't be looked for")
	found := map[int]bool{}
	for _, id := range all {
		if id.PID != pid {
			found[id.PID] = true
		}
	}
	return found
}

// countKin counts a worker's living kin as a stranger would.
func countKin(t *testing.T, w *worker) int {
	t.Helper()
	return len(strangersView(t, w, w.process.pid, w.line.kin.Mark))
}

func TestCloseLeavesNoKin(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, sink := workertest.Run(t, w, oneChild+fiftyChildren+lostChildren)
	found := pids(t, sink)
	workertest.Run(t, w, "pass")
	mustLive(t, found...)
	must(t, w.Close(context.Background()))
	mustBeGone(t, append(found, w.info.PID)...)
}

// Each half of the mark is enough to find those who got away from group,
// session and parent.
func TestMarkIsTwofold(t *testing.T) {
	w := start(t, fakeSpawner(t))
	// In the midst of an exec a process has no environment to be seen: these stay what
	// they are.
	lost := strings.NewReplacer(`os.execve("/bin/sleep", ["sleep", "1000"], {})`, "import time; time.sleep(1000)", "{}", "os.environ")
	_, sink := workertest.Run(t, w, lost.Replace(lostChildren))
	// One whose parent ends in the midst of a look is not seen: they are orphans first.
	for _, pid := range pids(t, sink) {
		eventually(t, "it is an orphan", func() bool { return parentOf(t, pid) == os.Getpid() })
	}
	own := w.line.kin.Mark
	for name, mark := range map[string]proc.Mark{
		"environment": {Value: own.Value, Tag: 1},
		"limit":       {Value: "other", Tag: own.Tag},
	} {
		found := strangersView(t, w, -1, mark)
		for _, pid := range pids(t, sink) {
			expect(t, found[pid], "by its %s process %d is not found", name, pid)
		}
	}
}

func TestKillCountsKin(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, first := workertest.Run(t, w, fiftyChildren)
	_, second := workertest.Run(t, w, lostChildren)
	// Those in between may still be about to exit.
	eventually(t, "only those that stay are left", func() bool { return countKin(t, w) == 53 })
	if got := w.Kill(); got != 53 {
		t.Errorf("%d processes were ended, want 53", got)
	}
	mustBeGone(t, append(pids(t, first), pids(t, second)...)...)
	if got := w.Kill(); got != 0 {
		t.Errorf("a second Kill ended %d", got)
	}
}

func TestKillEndsAForkBomb(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, died := workertest.Begin(t, w, forkBomb)
	eventually(t, "the bomb grows", func() bool { return countKin(t, w) > 50 })
	got := w.Kill()
	expect(t, got >= 50, "%d processes were ended", got)
	left := countKin(t, w)
	expect(t, left <= 0, "%d processes live", left)
	_, ok := (<-died).Err.(*sessions.CrashError)
	expect(t, ok, "the run did not end with a crash")
}

func TestCrashEndsKinOfThisWorkerOnly(t *testing.T) {
	s := fakeSpawner(t)
	w, other := start(t, s), start(t, s) // of the same interpreter id, as after a restart
	_, kept := workertest.Run(t, other, oneChild)
	_, lost := workertest.Run(t, other, lostChildren)
	crash, sink := workertest.RunToDeath(t, w, oneChild+lostChildren+"\nimport ctypes; ctypes.string_at(0)")
	expect(t, crash.Signal == "SIGSEGV", "got %+v", crash)
	mustBeGone(t, pids(t, sink)...)
	mustLive(t, append(pids(t, kept), pids(t, lost)...)...)
}

func TestOrphansAreReaped(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, sink := workertest.Run(t, w, `
import os, time
r, end = os.pipe()
if os.fork() == 0:
    if os.fork():
        os._exit(0)
    os.write(end, b"%d\n" % os.getpid())
    os._exit(0)
os.wait()
print(os.read(r, 100).decode())
`)
	pid := pids(t, sink)[0]
	eventually(t, "the orphan is reaped", func() bool {
		_, found := proc.Read(pid)
		return !found
	})
}

func TestCloseOfAStoppedWorker(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, sink := workertest.Run(t, w, oneChild)
	_, err := w.process.pause()
	insist(t, err == nil, "%v", err)
	must(t, w.Close(context.Background()))
	mustBeGone(t, append(pids(t, sink), w.info.PID)...)
}

// The kernel takes the thread that started a worker for its parent. Go ends
// threads that goroutines were locked to.
func TestWorkerOutlivesThreads(t *testing.T) {
	w := start(t, fakeSpawner(t))
	for range 20 {
		var threads sync.WaitGroup
		for range 50 {
			threads.Go(runtime.LockOSThread)
		}
		threads.Wait()
	}
	workertest.Run(t, w, "pass")
}

func TestManyWorkersLeaveNothing(t *testing.T) {
	s := fakeSpawner(t)
	cycle := func() {
		w := start(t, s)
		workertest.Run(t, w, oneChild)
		must(t, w.Close(context.Background()))
	}
	cycle() // what is made once: poller, launcher, reaper
	descriptors := openDescriptors(t)
	for range 20 {
		cycle()
	}
	// The reaper has some of its own while it looks for the dead.
	eventually(t, "descriptors are given back", func() bool { return openDescriptors(t) <= descriptors })
	eventually(t, "all children are reaped", func() bool {
		children, _ := proc.ChildrenOf(os.Getpid())
		return !slices.ContainsFunc(children, func(pid int) bool { _, found := proc.Read(pid); return found })
	})
}
