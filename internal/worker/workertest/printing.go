package workertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// Printing is tested where the order of streams is kept.
func skipButOnLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("promised on Linux only")
	}
}

// patiently has a worker wait for its server as long as need be before it turns from one
// stream to the other, which on a busy machine takes longer than it waits otherwise.
const patiently = "import sys; sys.modules['pyworker.order'].PATIENCE = 60\n"

// expectAll fails unless both streams together hold this text in this order.
func expectAll(t *testing.T, sink *Recorder, want string) {
	t.Helper()
	got := sink.All()
	if got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-20)
	t.Fatalf("%d bytes, want %d; from byte %d on %.60q, want %.60q", len(got), len(want), from, got[from:], want[from:])
}

// numbers are the lines that for i in range(n): print(i) prints.
func numbers(n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintln(&lines, i)
	}
	return lines.String()
}

func testOrder(t *testing.T, s sessions.Starter) {
	skipButOnLinux(t)
	w := Start(t, s)
	_, sink := Run(t, w, patiently+`
import sys
for i in range(200):
    print("out", i)
    print("err", i, file=sys.stderr)
`)
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	expectAll(t, sink, want.String())
}

// testBulkOrder prints a great deal between all that must come in its place.
func testBulkOrder(t *testing.T, s sessions.Starter) {
	skipButOnLinux(t)
	w := Start(t, s)
	const many = 3000
	_, sink := Run(t, w, patiently+fmt.Sprintf(`
import os, posix, subprocess, sys
def bulk():
    for i in range(%d): print(i)
bulk()
print("err", file=sys.stderr)
bulk()
subprocess.run(["echo", "child"])
bulk()
os.system("echo shell")
bulk()
os.waitpid(os.posix_spawn("/bin/echo", ["echo", "spawned"], {}), 0)
bulk()
if os.fork() == 0:
    bulk()
    os._exit(0)
os.wait()
bulk()
print("flushed", flush=True)
os.write(1, b"raw\n")
bulk()
print("x" * 1_000_000)
bulk()
for i in range(3):
    print(i)
    print(i, file=sys.stderr)
bulk()
sys.stdout.buffer.write(memoryview(b"view\n"))
sys.stdout.detach().write(b"detached\n")
`, many))
	bulk := numbers(many)
	expectAll(t, sink, strings.Join([]string{"", "err\n", "child\n", "shell\n", "spawned\n", bulk, "flushed\nraw\n",
		strings.Repeat("x", 1_000_000) + "\n", "0\n0\n1\n1\n2\n2\n", "view\ndetached\n"}, bulk))
	_, sink = Run(t, w, "print('next')")
	expectAll(t, sink, "next\n")
}

// testBulkIsSeen: a burst that silence follows shows while the code still runs.
func testBulkIsSeen(t *testing.T, s sessions.Starter) {
	dir := t.TempDir()
	w := StartIn(t, s, dir)
	sink, ended := running(t, w, `
import os, time
for i in range(5000): print(i)
while not os.path.exists("seen"): time.sleep(0.01)
`)
	for range 1000 {
		if sink.Text(sessions.Stdout) == numbers(5000) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	seen := sink.Text(sessions.Stdout)
	if err := os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if end := <-ended; end.err != nil || !end.outcome.OK {
		t.Fatalf("got %+v", end)
	}
	if seen != numbers(5000) {
		t.Errorf("%d of %d bytes were seen before the end", len(seen), len(numbers(5000)))
	}
	expect(t, sink, numbers(5000), "")
}

func testBulkThreads(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	const threads, lines = 4, 20_000
	_, sink := Run(t, w, fmt.Sprintf(`
import sys, threading
def work(name):
    for i in range(%d): sys.stdout.write(f"{name} {i}\n")
interval = sys.getswitchinterval()
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work, args=(n,)) for n in range(%d)]
for t in threads: t.start()
for t in threads: t.join()
sys.setswitchinterval(interval)
`, lines, threads))
	var next [threads]int
	for line := range strings.Lines(sink.Text(sessions.Stdout)) {
		var name, number int
		if _, err := fmt.Sscanf(line, "%d %d\n", &name, &number); err != nil || name >= threads || number != next[name] {
			t.Fatalf("%q came where the threads were at %v", line, next)
		}
		next[name]++
	}
	if next != [threads]int{lines, lines, lines, lines} {
		t.Errorf("the threads' texts end at %v", next)
	}
}

// testBulkSignals has signal handlers and finalizers print in the midst of
// prints: all of it arrives, each line whole and once.
func testBulkSignals(t *testing.T, s sessions.Starter) {
	skipButOnLinux(t)
	w := Start(t, s)
	const lines = 100_000
	_, sink := Run(t, w, fmt.Sprintf(`
import gc, signal, sys
counts = [0, 0]
def say(kind):
    sys.stdout.write(f"{kind} {counts[kind]}\n")
    counts[kind] += 1
busy = False
def handle(number, frame):
    global busy
    if not busy: # a handler may be interrupted by the next one
        busy = True
        say(0)
        busy = False
class Loud:
    def __del__(self):
        finalized.append(1)
        sys.stdout.write("1\n")
finalized = []
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for i in range(%d):
    sys.stdout.write(f"2 {i}\n")
    if i %% 50 == 0:
        loud = Loud(); loud.me = loud; del loud
signal.setitimer(signal.ITIMER_REAL, 0)
gc.collect()
print(3, counts[0], len(finalized))
`, lines))
	var handled, finalized, next, wantHandled, wantFinalized int
	for line := range strings.Lines(sink.Text(sessions.Stdout)) {
		switch line {
		case fmt.Sprintf("0 %d\n", handled):
			handled++
		case "1\n":
			finalized++
		case fmt.Sprintf("2 %d\n", next):
			next++
		default:
			if _, err := fmt.Sscanf(line, "3 %d %d\n", &wantHandled, &wantFinalized); err != nil {
				t.Fatalf("%q came in place of line %d, handler %d", line, next, handled)
			}
		}
	}
	if next != lines || handled != wantHandled || finalized != wantFinalized || handled*finalized == 0 {
		t.Errorf("%d lines, %d of %d handlers, %d of %d finalizers", next, handled, wantHandled, finalized, wantFinalized)
	}
}

// testBulkInterrupted has a handler raise in the midst of prints. A line whose
// print was interrupted comes or not; it is printed again.
func testBulkInterrupted(t *testing.T, s sessions.Starter) {
	skipButOnLinux(t)
	w := Start(t, s)
	const lines = 100_000
	_, sink := Run(t, w, fmt.Sprintf(`
import signal, sys
class Stop(Exception): pass
armed, stopped, i = False, 0, 0
def handle(number, frame):
    global armed, stopped
    if armed:
        armed = False
        stopped += 1
        raise Stop
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
def work():
    global armed, i
    armed = True
    while i < %d:
        sys.stdout.write(f"{i}\n")
        i += 1
    armed = False
while i < %[1]d:
    try: work()
    except Stop: pass
signal.setitimer(signal.ITIMER_REAL, 0)
assert stopped
`, lines))
	next := 0
	for line := range strings.Lines(sink.Text(sessions.Stdout)) {
		switch number, err := strconv.Atoi(strings.TrimSuffix(line, "\n")); {
		case err == nil && number == next:
			next++
		case err != nil || number != next-1:
			t.Fatalf("%q came in place of %d", line, next)
		}
	}
	if next != lines {
		t.Errorf("%d lines arrived", next)
	}
}

func testBulkDeath(t *testing.T, s sessions.Starter) {
	skipOnWindows(t)
	for name, death := range map[string]string{
		"segfault": "import ctypes; ctypes.string_at(0)",
		"exit":     "import os; os._exit(1)",
		"kill":     "import os; os.kill(os.getpid(), 9)",
	} {
		t.Run(name, func(t *testing.T) {
			w := Start(t, s)
			_, sink := RunToDeath(t, w, "for i in range(20_000): print(i)\nprint('last', end='')\n"+death)
			expect(t, sink, numbers(20_000)+"last", "")
		})
	}
}

// testBulkKill kills a flood from outside, at any moment of it: what arrives is
// its beginning, each line once.
func testBulkKill(t *testing.T, s sessions.Starter) {
	skipButOnLinux(t)
	for range 5 {
		w := Start(t, s)
		sink := NewRecorder()
		ended := make(chan error, 1)
		go func() {
			_, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: "i = 0\nwhile True:\n    print(i)\n    i += 1"}, sink)
			ended <- err
		}()
		for len(sink.All()) < 1_000_000 {
			select {
			case <-sink.Printed():
			case err := <-ended:
				t.Fatalf("ended early: %v", err)
			}
		}
		w.Kill()
		<-ended
		got := sink.All()
		got = got[:strings.LastIndexByte(got, '\n')+1]
		if want := numbers(strings.Count(got, "\n")); got != want {
			t.Fatalf("%d lines are not those that were printed", strings.Count(got, "\n"))
		}
	}
}

// testCPrints: what C code prints has its place, and a crash loses none of it.
func testCPrints(t *testing.T, s sessions.Starter) {
	skipOnWindows(t)
	w := Start(t, s)
	_, sink := RunToDeath(t, w, `
import ctypes
print("a", end="")
ctypes.CDLL(None).printf(b"b")
print("c", end="")
ctypes.CDLL(None).printf(b"d")
ctypes.string_at(0)
`)
	expect(t, sink, "abcd", "")
}
