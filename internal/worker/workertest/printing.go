package workertest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

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
			expectText(t, sink, numbers(20_000)+"last", "")
		})
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
	expectText(t, sink, "abcd", "")
}
