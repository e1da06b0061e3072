package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// limited returns a Zygote, whose workers can be copied, with these limits.
func limited(t testing.TB, limits sandbox.Limits) *Spawner {
	t.Helper()
	limits.Poll = 20 * time.Millisecond
	z := NewZygote(Options{
		Python: workertest.Python(t), LibraryDir: filepath.Join(t.TempDir(), "lib"),
		CheckpointShare: 0.5, Limits: limits, Preload: []string{"json"},
	})
	// On a busy machine what these wait for takes longer than it should.
	if z.limiter != nil {
		z.limiter.Patience = time.Minute
	}
	closeLater(t, z)
	return z.Spawner
}

// breaks runs code that must end its worker, and returns why it says it ended.
func breaks(t testing.TB, w *worker, code string) string {
	t.Helper()
	sink := workertest.NewRecorder()
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, sink)
	var crash *sessions.CrashError
	insist(t, errors.As(err, &crash), "it ended as %+v, %v\n%s", outcome.Exception, err, sink.All())
	return crash.Reason
}

const grab = `
held = []
def grab(megabytes):
    held.append(bytearray(megabytes << 20))
    held[-1][::4096] = b"x" * len(held[-1][::4096])
`

func TestMemoryLimitIsAMemoryError(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 300 << 20}))
	workertest.Run(t, w, "import os\nif not os.fork(): os._exit(0)") // the dead are no second process
	// Grown step by step, it ends like that too, and the session goes on.
	for _, code := range []string{grab + "grab(2000)", "n = 0\nwhile True:\n    grab(10); n += 1"} {
		outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, workertest.NewRecorder())
		expect(t, err == nil && outcome.Exception != nil && outcome.Exception.Type == "MemoryError", "%+v, %v", outcome.Exception, err)
	}
	expectPrinted(t, w, "print(n > 20); held.clear()", "True\n")
}

// Code that leaves no byte has its answer, and the next can free what it holds.
func TestMemoryFullToTheBrim(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 100 << 20}))
	for range 2 {
		expectPrinted(t, w, `
kept, big = 1, []
for size in (1 << 20, 4000, 400):
    try:
        while True: big.append(bytearray(size))
    except MemoryError: pass
print("full")`, "full\n")
		expectPrinted(t, w, "big.clear(); print(kept)", "1\n")
	}
}

// Each process has less than the limit, all together have more, orphans too. Direct
// children are counted in TestLimitsBehindTheWall/memory.
func TestMemoryLimitOfAllProcesses(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 300 << 20}))
	reason := breaks(t, w, grab+`
import os, time
for _ in range(4):
    if not os.fork():
        os.setsid()
        if os.fork(): os._exit(0)
        grab(120)
        time.sleep(1000)
time.sleep(1000)
`)
	expect(t, strings.HasPrefix(reason, "memory limit of 300 MiB reached (") && strings.HasSuffix(reason, " used)"), "%v", reason)
}

// What a fork shares with its parent counts once, and what a copy shares too.
func TestSharedMemoryCountsOnce(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 400 << 20}))
	workertest.Run(t, w, grab+"grab(250)")
	_, err := w.Fork(context.Background(), sessions.ToStandBy)
	insist(t, err == nil, "%v", err)
	outcome, sink := workertest.Run(t, w, `
import os, time
children = [os.fork() for _ in range(1)]
if not children[0]: time.sleep(1000)
for _ in range(4):
    if not (pid := os.fork()): time.sleep(1000)
    children.append(pid)
time.sleep(1)
print(len(children))
for pid in children: os.kill(pid, 9)
`)
	expect(t, outcome.OK && sink.All() == "5\n", "%+v %q", outcome, sink.All())
}

// A child that has its parent's memory, as between vfork and exec, has none of its own.
func TestAMemoryOfTwoCountsOnce(t *testing.T) {
	self, ofMemory := uintptr(os.Getpid()), uintptr(1) // KCMP_VM
	if _, _, failed := unix.Syscall6(unix.SYS_KCMP, self, self, ofMemory, 0, 0, 0); failed != 0 {
		t.Skip("the kernel may not be asked here")
	}
	w := start(t, limited(t, sandbox.Limits{Memory: 300 << 20}))
	outcome, sink := workertest.Run(t, w, grab+`
grab(200)
import ctypes, os, time
c = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p((ctypes.addressof(stack) + len(stack)) & ~15)
child = c.clone(ctypes.cast(c.pause, ctypes.c_void_p), top, 0x100 | 17, None)  # CLONE_VM, SIGCHLD
time.sleep(1)
os.kill(child, 9)
print(child > 0)
`)
	expect(t, outcome.OK && sink.All() == "True\n", "%+v %q", outcome, sink.All())
}

// Who has come beyond the limit before a MemoryError may start programs all the same.
func TestFullInterpreterStartsPrograms(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 100 << 20}))
	outcome, sink := workertest.Run(t, w, grab+`
grab(200)
import subprocess
print(subprocess.run(["sleep", "1"]).returncode)
`)
	expect(t, outcome.OK && sink.All() == "0\n", "%+v %q", outcome, sink.All())
}

func TestUnderstudyTakesOverAfterABreach(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 300 << 20}))
	workertest.Run(t, w, grab+"x = 42")
	u, err := w.Fork(context.Background(), sessions.ToStandBy)
	must(t, err)
	shared := "import mmap\nm = mmap.mmap(-1, 800 << 20)\nwhile True:\n    for i in range(0, len(m), 4096): m[i] = 1"
	if reason := breaks(t, w, "print('so far')\n"+shared); !strings.HasPrefix(reason, "memory limit of 300 MiB reached") {
		t.Error(reason)
	}
	next, err := u.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = next.Close(context.Background()) })
	expectPrinted(t, next, "print(x)", "42\n")
	if reason := breaks(t, next.(*worker), shared); !strings.HasPrefix(reason, "memory limit of 300 MiB reached") {
		t.Error(reason)
	}
}

func TestProcessLimit(t *testing.T) {
	for name, code := range map[string]string{
		"processes": "import os, time\nfor _ in range(30):\n    if not os.fork(): time.sleep(1000)\ntime.sleep(1000)",
		"threads":   "import threading, time\nfor _ in range(30): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\ntime.sleep(1000)",
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, limited(t, sandbox.Limits{Processes: 20}))
			reason := breaks(t, w, code)
			expect(t, strings.HasPrefix(reason, "process limit of 20 reached"), "%v", reason)
		})
	}
}

func TestLimitsOfEachProcess(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{OpenFiles: 100, FileSize: 1 << 20, CPUs: 0.5}))
	expectPrinted(t, w, `
import errno, os, subprocess, sys
print(len(os.sched_getaffinity(0)))
try:
    with open("big", "wb") as f: f.write(bytes(2 << 20))
except OSError as e: print(errno.errorcode[e.errno])
try: fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
except OSError as e: print(errno.errorcode[e.errno])
`, "1\nEFBIG\nEMFILE\n")
}

// Small files can still be written when none may grow: who goes on with them is ended, and
// the next run may read and delete.
func TestDiskLimit(t *testing.T) {
	s := limited(t, sandbox.Limits{Disk: 20 << 20})
	dir := t.TempDir()
	w := inDirectory(t, s, dir)
	reason := breaks(t, w, manyFiles+"write(1000)")
	want := "disk limit of 20 MiB (--disk-limit) reached: "
	expect(t, strings.HasPrefix(reason, want), "%v", reason)
	next := inDirectory(t, s, dir)
	expectPrinted(t, next, "import os, time\nfor _ in range(5): time.sleep(0.3)\nprint(len(os.listdir()) > 10)", "True\n")
	if reason := breaks(t, next, manyFiles+"write(1000)"); !strings.Contains(reason, "disk limit") {
		t.Error(reason)
	}
}

func TestWorkersBeginWithTheirLimitsWhereverTheyComeFrom(t *testing.T) {
	for name, s := range map[string]*Spawner{
		"spawn": testSpawner(t, func(o *Options) { o.Limits.OpenFiles = 77 }),
		"fork":  limited(t, sandbox.Limits{OpenFiles: 77}),
	} {
		w := start(t, s)
		_, sink := workertest.Run(t, w, "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))")
		expect(t, sink.All() == "(77, 77)\n", "%s: %q", name, sink.All())
	}
}

// TestMachineGuard: while the machine's memory is short, the largest that run are
// ended, and the idle ones and small ones are spared.
func TestMachineGuard(t *testing.T) {
	s := limited(t, sandbox.Limits{Memory: 4 << 30})
	var mu sync.Mutex
	var greedy []*worker // memory is short as long as one of them lives
	s.limiter.Available = func() (left, all uint64) {
		mu.Lock()
		defer mu.Unlock()
		for _, w := range greedy {
			if !w.process.hasExited() {
				return 1 << 20, 8 << 30
			}
		}
		return 4 << 30, 8 << 30
	}
	idler := start(t, s)
	workertest.Run(t, idler, grab+"grab(200)")
	small := start(t, s)
	const runners = 6
	var all []*worker
	var ended sync.WaitGroup
	reasons := make([]string, runners)
	ready := make(chan struct{}, runners+1)
	go func() {
		workertest.Run(t, small, "import time; time.sleep(3)")
		ready <- struct{}{}
	}()
	for i := range runners {
		w := start(t, s)
		all = append(all, w)
		workertest.Run(t, w, grab)
		ended.Go(func() {
			reasons[i] = breaks(t, w, fmt.Sprintf("import time; grab(%d); open('there', 'w').close(); time.sleep(1000)", 100+i))
		})
		eventually(t, "it has its memory", func() bool {
			_, err := os.Stat(filepath.Join(w.spec.Load().Workdir, "there"))
			return err == nil
		})
	}
	mu.Lock()
	greedy = all
	mu.Unlock()
	ended.Wait()
	for _, reason := range reasons {
		expect(t, strings.HasPrefix(reason, "the machine's memory is nearly used up, and of all that run this interpreter used the most ("), "%v", reason)
	}
	<-ready
	expectPrinted(t, idler, "print(len(held))", "1\n")
}

const hold = `
import os, time
def hold(megabytes):
    fd = os.memfd_create("held")
    for _ in range(megabytes): os.write(fd, bytes(1 << 20))
    return fd
`

// Memory in a file that nobody maps is its holder's: the limit holds for it.
func TestMemoryLimitOfFilesInMemory(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 100 << 20}))
	workertest.Run(t, w, hold+`
import mmap
fds = [hold(80)]
shared = mmap.mmap(fds[0], 0)
sum(shared[::4096])
for _ in range(10): time.sleep(0.1)`) // mapped it counts once
	reason := breaks(t, w, "for _ in range(4): fds.append(hold(80))\ntime.sleep(1000)")
	expect(t, strings.HasPrefix(reason, "memory limit of 100 MiB reached"), "%v", reason)
}

// When the machine's memory is short, whoever has it in such files goes before those
// who have less.
func TestGuardSeesFilesInMemory(t *testing.T) {
	s := limited(t, sandbox.Limits{Memory: 4 << 30})
	var holder atomic.Pointer[worker] // memory is short as long as it lives
	s.limiter.Available = func() (left, all uint64) {
		if w := holder.Load(); w != nil && !w.process.hasExited() {
			return 1 << 20, 8 << 30
		}
		return 4 << 30, 8 << 30
	}
	w, other := start(t, s), start(t, s)
	workertest.Run(t, other, grab+"grab(70)")
	workertest.Run(t, w, hold+"fd = hold(150)")
	var rest sync.WaitGroup
	rest.Go(func() {
		outcome, _ := workertest.Run(t, other, "import time; time.sleep(2)")
		expect(t, outcome.OK, "the other one: %+v", outcome)
	})
	eventually(t, "the other one runs", other.Busy)
	rest.Go(func() {
		for !w.Busy() {
			time.Sleep(time.Millisecond)
		}
		holder.Store(w)
	})
	reason := breaks(t, w, "time.sleep(1000)")
	expect(t, strings.HasPrefix(reason, "the machine's memory is nearly used up"), "%v", reason)
	rest.Wait()
}

// However many descriptors code has, all others don't wait until the last is looked at.
func TestDescriptorsWithoutEnd(t *testing.T) {
	s := limited(t, sandbox.Limits{Memory: 4 << 30, OpenFiles: 1000})
	w := start(t, s)
	workertest.Run(t, w, hold+`
ready, done = os.pipe()
for n in range(20):
    if not os.fork():
        last = n == 19 and hold(80)
        try:
            while True: os.dup(0)
        except OSError: os.close(done)
        while True: time.sleep(1000)
os.close(done); os.read(ready, 1)`)
	c := proc.NewCount(s.registry)
	c.Add(w.process.pid)
	f := c.Footprint
	if seen := f.Unmapped(); len(f.PIDs) != 21 || seen >= 80<<20 {
		t.Errorf("%d processes, and the last one's %d bytes are seen", len(f.PIDs), seen)
	}
	f.PIDs = f.PIDs[20:]
	if seen := f.Unmapped(); seen < 80<<20 {
		t.Errorf("%d bytes are seen", seen)
	}
}
