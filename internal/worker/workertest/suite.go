package workertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"understudy/internal/check"
	"understudy/sessions"
)

var expect, insist = check.Expect, check.Insist

// Suite runs the behaviour tests, side by side. newStarter returns the starter of a test; its
// workers echo nothing unless the code prints.
func Suite(t *testing.T, newStarter func(t testing.TB) sessions.Starter) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s sessions.Starter)
	}{
		{"Info", testInfo},
		{"StateIsKept", testState},
		{"WorkersAreApart", testWorkersApart},
		{"StreamsAreApart", testStreams},
		{"OutputOfChildrenAndC", testForeignOutput},
		{"BytesAreUntouched", testBytes},
		{"StreamsKeepTheirOrder", testOrder},
		{"BulkPrintsKeepTheirOrder", testBulkOrder},
		{"BulkPrintsSurviveDeath", testBulkDeath},
		{"CPrints", testCPrints},
		{"ChildHoldsThePipes", testChildHoldsPipes},
		{"Exception", testException},
		{"Crashes", testCrashes},
		{"DeathWhileIdle", testDeathWhileIdle},
		{"LostDescriptors", testLostDescriptors},
		{"Interrupt", testInterrupt},
		{"InterruptThatWaits", testInterruptThatWaits},
		{"InterruptAtTheEdges", testInterruptAtTheEdges},
		{"KillOfWhatIgnoresInterrupts", testKill},
		{"Asking", testAsking},
		{"AskingIsInterrupted", testAskingIsInterrupted},
		{"LongAnswer", testLongAnswer},
		{"FirstExecution", testFirstExecution},
		{"CloseTwice", testCloseTwice},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, newStarter(t))
		})
	}
}

// Start starts a worker in a directory of its own; it is closed with the test.
func Start(t testing.TB, s sessions.Starter) sessions.Worker {
	t.Helper()
	return StartIn(t, s, t.TempDir())
}

// StartIn starts a worker in the directory.
func StartIn(t testing.TB, s sessions.Starter, dir string) sessions.Worker {
	t.Helper()
	w, err := s.Start(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: dir, PrivateDir: filepath.Join(dir, "private"), FirstExecution: 1})
	insist(t, err == nil, "%v", err)
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Run runs code that must end without an exception.
func Run(t testing.TB, w sessions.Worker, code string) (sessions.Outcome, *Recorder) {
	t.Helper()
	return RunFor(t, w, sessions.Request{Execution: 1, Code: code})
}

// RunFor is Run with a whole request.
func RunFor(t testing.TB, w sessions.Worker, request sessions.Request) (sessions.Outcome, *Recorder) {
	t.Helper()
	sink := NewRecorder()
	outcome, err := w.Run(context.Background(), request, sink)
	insist(t, err == nil, "%v\nstderr: %s", err, sink.Text(sessions.Stderr))
	if !outcome.OK && outcome.Exception != nil {
		t.Fatalf("the code raised: %s", outcome.Exception.Traceback)
	}
	return outcome, sink
}

// RunToDeath runs code that must end the worker.
func RunToDeath(t testing.TB, w sessions.Worker, code string) (*sessions.CrashError, *Recorder) {
	t.Helper()
	sink := NewRecorder()
	_, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, sink)
	var crash *sessions.CrashError
	insist(t, errors.As(err, &crash), "got %v, want a *sessions.CrashError", err)
	return crash, sink
}

// expectText fails unless the streams hold exactly these texts.
func expectText(t *testing.T, sink *Recorder, stdout, stderr string) {
	t.Helper()
	if got := sink.Text(sessions.Stdout); got != stdout {
		t.Errorf("stdout is %.200q, want %.200q", got, stdout)
	}
	if got := sink.Text(sessions.Stderr); got != stderr {
		t.Errorf("stderr is %.200q, want %.200q", got, stderr)
	}
}

// Begin runs code in the background and returns when it has printed.
func Begin(t testing.TB, w sessions.Worker, code string) (sink *Recorder, ended <-chan End) {
	t.Helper()
	sink = NewRecorder()
	end := make(chan End, 1)
	go func() {
		outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, sink)
		end <- End{outcome, err}
	}()
	select {
	case <-sink.Printed():
	case early := <-end:
		t.Fatalf("the code ended early: %+v", early)
	}
	return sink, end
}

// End is what a run returned.
type End struct {
	Outcome sessions.Outcome
	Err     error
}

func skipOnWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("about Unix processes")
	}
}

func testInfo(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	_, sink := Run(t, w, "import os, platform; print(os.getpid(), platform.python_version())")
	info := w.Info()
	fields := strings.Fields(sink.Text(sessions.Stdout))
	expect(t, len(fields) == 2 && fields[1] == info.Python && info.PID != 0 && info.InitError == "", "the worker says %q, its info %+v", fields, info)
	origin := w.Info().Origin
	expect(t, slices.Contains([]string{"zygote", "root", "spawn"}, origin), "it says that it was made from %q", origin)
}

func testState(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	Run(t, w, "x = 20\ndef double(n): return 2 * n")
	_, sink := Run(t, w, "print(double(x) + 2)")
	expectText(t, sink, "42\n", "")
}

func testWorkersApart(t *testing.T, s sessions.Starter) {
	first, second := Start(t, s), Start(t, s)
	Run(t, first, "x = 1; open('file', 'w').close()")
	_, sink := Run(t, second, "import os; print('x' in globals(), os.path.exists('file'))")
	expectText(t, sink, "False False\n", "")
	expect(t, first.Info().PID != second.Info().PID, "two workers are one process")
	first.Kill()
	Run(t, second, "pass")
}

func testStreams(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	_, sink := Run(t, w, `
import os, sys
print("out")
print("err", file=sys.stderr)
os.write(1, b"raw out\n")
os.write(2, b"raw err\n")
`)
	expectText(t, sink, "out\nraw out\n", "err\nraw err\n")
}

func testForeignOutput(t *testing.T, s sessions.Starter) {
	skipOnWindows(t)
	w := Start(t, s)
	_, sink := Run(t, w, `
import ctypes, subprocess, threading
subprocess.run("echo child; echo child err >&2", shell=True)
ctypes.CDLL(None).printf(b"C without a newline")
thread = threading.Thread(target=print, args=(" and a thread",))
thread.start(); thread.join()
`)
	for _, want := range []string{"child\n", "C without a newline", " and a thread\n"} {
		expect(t, strings.Contains(sink.Text(sessions.Stdout), want), "%q is missing in %q", want, sink.Text(sessions.Stdout))
	}
	got := sink.Text(sessions.Stderr)
	expect(t, got == "child err\n", "stderr is %q", got)
}

func testBytes(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	_, sink := Run(t, w, `
import os, time
for part in (b"\xc3", b"\xa4 \xff\xfe \x00 ", b"\xf0\x9f", b"\x90\x8d"):
    os.write(1, part)
    time.sleep(0.01)
`)
	expectText(t, sink, "ä \xff\xfe \x00 🐍", "")
}

// A child that lives on keeps the pipes open: results come all the same, and
// what the child prints belongs to the execution that runs then, or the next.
func testChildHoldsPipes(t *testing.T, s sessions.Starter) {
	skipOnWindows(t)
	w := Start(t, s)
	_, sink := Run(t, w, `
import os, subprocess, time
child = subprocess.Popen(
    "read line; echo asked; touch told; read line; echo between; sleep 1000",
    shell=True, stdin=subprocess.PIPE, bufsize=0)
print("started")
`)
	expectText(t, sink, "started\n", "")
	_, sink = Run(t, w, `
child.stdin.write(b"\n")
while not os.path.exists("told"):
    time.sleep(0.01)
`)
	expectText(t, sink, "asked\n", "")
	_, sink = Run(t, w, `child.stdin.write(b"\n")`)
	for all := sink.Text(sessions.Stdout); !strings.Contains(all, "between\n"); {
		_, sink = Run(t, w, "time.sleep(0.01)")
		all += sink.Text(sessions.Stdout)
	}
}

func testException(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	Run(t, w, "x = 1\ndef f():\n    return x / 0")
	sink := NewRecorder()
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: 2, Code: "print('before')\nf()"}, sink)
	insist(t, err == nil, "%v", err)
	expectText(t, sink, "before\n", "")
	e := outcome.Exception
	insist(t, !outcome.OK && e != nil && e.Type == "ZeroDivisionError" && strings.Contains(e.Traceback, "return x / 0"), "got %+v", e)
	last := e.Stack[len(e.Stack)-1]
	expect(t, last.Function == "f" && last.Line == 3 && last.File == "<cell 1>", "the stack ends with %+v", last)
	Run(t, w, "assert x == 1")
}

func testCrashes(t *testing.T, s sessions.Starter) {
	skipOnWindows(t)
	for _, test := range []struct{ name, code, reason, signal string }{
		{"segfault", "import ctypes\ndef f():\n    ctypes.string_at(0)\nf()",
			"killed by SIGSEGV (segmentation fault) at <cell 1>, line 4, in f", "SIGSEGV"},
		{"abort", "import os\nos.abort()", "killed by SIGABRT (aborted) at <cell 1>, line 3, in <module>", "SIGABRT"},
		{"exit", "import os\nos._exit(7)", "exited with code 7 (os._exit, or an exit in native code)", ""},
		{"kill", "import os\nos.kill(os.getpid(), 9)", "killed by SIGKILL (out of memory, or killed from outside)", "SIGKILL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := Start(t, s)
			Run(t, w, "print('well')")
			crash, sink := RunToDeath(t, w, "print('before', end='')\n"+test.code)
			expect(t, crash.Reason == test.reason && crash.Signal == test.signal, "got %q (%s)\nwant %q (%s)", crash.Reason, crash.Signal, test.reason, test.signal)
			expectText(t, sink, "before", "")
			<-w.Exited()
			again, _ := RunToDeath(t, w, "pass")
			expect(t, again.Reason == crash.Reason, "the next run says %q", again.Reason)
		})
	}
}

func testDeathWhileIdle(t *testing.T, s sessions.Starter) {
	dir := t.TempDir()
	w := StartIn(t, s, dir)
	Run(t, w, "print('well')")
	Run(t, w, `
import os, threading, time
print("last words", flush=True)

def die_when_idle():
    while not os.path.exists("idle"):
        time.sleep(0.01)
    os.write(2, b"in between\n")
    os._exit(5)

threading.Thread(target=die_when_idle).start()
`)
	if err := os.WriteFile(filepath.Join(dir, "idle"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-w.Exited()
	crash, sink := RunToDeath(t, w, "print('never')")
	expect(t, crash.ExitCode == 5, "got %+v", crash)
	expectText(t, sink, "", "in between\n")
	if _, err := w.Variables(context.Background()); !errors.As(err, &crash) {
		t.Errorf("variables of a dead worker: %v", err)
	}
}

func testLostDescriptors(t *testing.T, s sessions.Starter) {
	skipOnWindows(t)
	w := Start(t, s)
	Run(t, w, "import os\nos.closerange(0, 50)")
	_, sink := Run(t, w, "print('still here')")
	expectText(t, sink, "still here\n", "")
	crash, _ := RunToDeath(t, w, "os.closerange(3, 65536)\nimport time\ntime.sleep(1000)")
	expect(t, strings.HasPrefix(crash.Reason, "killed because it had closed its connection to the server"), "got %q", crash.Reason)
}

func testInterrupt(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	Run(t, w, "x = 1")
	sink, ended := Begin(t, w, "print('running\\n', end='')\nimport time\ntime.sleep(10**6)")
	if err := w.Interrupt(); err != nil {
		t.Fatal(err)
	}
	end := <-ended
	insist(t, end.Err == nil && end.Outcome.Signalled && !end.Outcome.OK && end.Outcome.Exception.Type == "KeyboardInterrupt", "got %+v", end)
	expectText(t, sink, "running\n", "")
	Run(t, w, "assert x == 1")
	if err := w.Interrupt(); !errors.Is(err, sessions.ErrNothingRuns) {
		t.Fatalf("interrupting an idle worker: %v", err)
	}
	Run(t, w, "assert x == 1")
}

// An interrupt may be noted by Python and not acted upon as long as a system call
// waits. Which is rare, and so is made here: the signal restarts the call.
func testInterruptThatWaits(t *testing.T, s sessions.Starter) {
	if runtime.GOOS == "windows" {
		t.Skip("system calls are not restarted on Windows")
	}
	w := Start(t, s)
	Run(t, w, "x = 1")
	_, ended := Begin(t, w, `
import os, signal, sys, threading
signal.siginterrupt(signal.SIGINT, False)
ends, cell = os.pipe(), threading.get_ident()
def tell():
    while (f := sys._current_frames()[cell]).f_code.co_name != "<module>" or (f.f_lineno or 0) < 9: pass
    os.write(1, b"it reads")
threading.Thread(target=tell).start()
os.read(ends[0], 1)
`)
	err := w.Interrupt()
	insist(t, err == nil, "%v", err)
	end := <-ended
	insist(t, end.Err == nil && !end.Outcome.OK && end.Outcome.Exception.Type == "KeyboardInterrupt", "got %+v", end)
	Run(t, w, "assert x == 1")
}

// An interrupt that crosses with the answer of its execution must not meet the
// next one, and none may be lost that comes before the code has begun.
func testInterruptAtTheEdges(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	for range 100 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = w.Run(context.Background(), sessions.Request{Execution: 1, Code: "pass"}, NewRecorder())
		}()
		err := w.Interrupt()
		insist(t, err == nil || errors.Is(err, sessions.ErrNothingRuns), "%v", err)
		<-ended
		Run(t, w, "for _ in range(1000): pass")
	}
}

func testKill(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	code := `
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("deaf\n", end="")
while True: pass
`
	sink, ended := Begin(t, w, code)
	err := w.Interrupt()
	insist(t, err == nil, "%v", err)
	n := w.Kill()
	expect(t, n == 0, "%d other processes were ended", n)
	var crash *sessions.CrashError
	end := <-ended
	expect(t, errors.As(end.Err, &crash) && crash.Reason == "killed by the server", "got %+v", end)
	expectText(t, sink, "deaf\n", "")
	select {
	case <-w.Exited():
	default:
		t.Error("Kill returned before the end")
	}
}

func testFirstExecution(t *testing.T, s sessions.Starter) {
	dir := t.TempDir()
	w, err := s.Start(context.Background(), sessions.Spec{InterpreterID: "later", Workdir: dir, FirstExecution: 12})
	insist(t, err == nil, "%v", err)
	defer w.Close(context.Background())
	_, sink := RunFor(t, w, sessions.Request{Execution: 12, Code: "import os; print(os.getcwd())"})
	want, err := filepath.EvalSymlinks(dir)
	insist(t, err == nil, "%v", err)
	expectText(t, sink, want+"\n", "")
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func testCloseTwice(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	for range 2 {
		err := w.Close(context.Background())
		expect(t, err == nil, "%v", err)
	}
	select {
	case <-w.Exited():
	default:
		t.Error("a closed worker lives")
	}
}
