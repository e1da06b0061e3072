package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ending is code that its process does not survive. stderr is what the worker
// says of it.
type ending struct{ name, code, reason, stderr string }

var endings = []ending{
	{"segmentation fault", "import ctypes; ctypes.string_at(0)", "SIGSEGV", ""},
	{"segmentation fault in a function", "def deep(n):\n    import ctypes\n    ctypes.string_at(0) if n == 0 else deep(n - 1)\ndeep(20)", "SIGSEGV", ""},
	{"stack overflow in C", "import faulthandler; faulthandler._stack_overflow()", "SIGSEGV", ""},
	{"abort", "import os; os.abort()", "SIGABRT", ""},
	{"os._exit(0)", "import os; os._exit(0)", "code 0", ""},
	{"os._exit(7)", "import os; os._exit(7)", "code 7", ""},
	{"SIGKILL to itself", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", ""},
	{"SIGTERM to itself", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM", ""},
	{"SIGKILL to its group", "import os, signal; os.killpg(0, signal.SIGKILL)", "SIGKILL", ""},
	{"a forged frame", forge("header = b'x'"), "broke the protocol", ""},
	{"a forged frame without end", forge("header = b' ' * (5 << 20)"), "broke the protocol", ""},
	{"a forged frame of no type", forge("header = b'{\"type\": \"' + b'x' * 1000 + b'\"}'"), "broke the protocol", ""},
	{"descriptors closed", "import os; os.closerange(3, 65536)", "code 70", "pyworker: [Errno 9] Bad file descriptor\n"},
}

// forge is code that sends a frame on its process's socket to the server, which ends the
// process for it.
func forge(header string) string {
	return "import os, socket, stat, struct, time\n" + header + `
for fd in map(int, os.listdir('/proc/self/fd')):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode): socket.socket(fileno=os.dup(fd)).send(struct.pack('>I', len(header)) + header, socket.MSG_DONTWAIT)
    except OSError: pass
time.sleep(1000)`
}

// die runs a step and then dies: nothing of the step may be left but what it
// printed and wrote.
func (s *session) die(ctx context.Context) error {
	return s.dieOf(ctx, s.anyStep(), pick(s.random, endings...))
}

func (s *session) dieOf(ctx context.Context, t step, e ending) error {
	t = t.then(e.code)
	t.variable, t.result, t.stderr = "", "", t.stderr+e.stderr
	a, err := s.run(ctx, t, want{status: "crashed", excType: "InterpreterCrash", dies: e.reason})
	s.died(e.name, a)
	if restored := a.record.StateRestored; !t.slow && restored != nil && *restored {
		s.counts.slowest(a.took, e.name)
	}
	return err
}

// died counts a death and what became of the state.
func (s *session) died(name string, a answer) {
	s.counts.add("died of: "+name, 1)
	s.counts.add("deaths", 1)
	if restored := a.record.StateRestored; restored != nil && *restored {
		s.counts.add("restored", 1)
	}
}

// dieInFlood dies while it prints much.
func (s *session) dieInFlood(ctx context.Context) error {
	return s.dieOf(ctx, printBulk(100+s.random.IntN(20_000)), pick(s.random, endings...))
}

var childStarters = []string{
	"import subprocess\npids = [subprocess.Popen(['sleep', '1000']).pid]",
	"import subprocess\npids = [subprocess.Popen(['sleep', '1000'], start_new_session=True).pid]",
	"import multiprocessing, time\nworker = multiprocessing.get_context('fork').Process(target=time.sleep, args=(1000,))\nworker.start()\npids = [worker.pid]",
	"import subprocess\nout = subprocess.run('setsid sleep 1000 >/dev/null 2>&1 & echo $!', shell=True, capture_output=True).stdout\npids = [int(out)]",
	"import os, time\npid = os.fork()\nif pid == 0:\n    os.setsid()\n    time.sleep(1000)\n    os._exit(0)\npids = [pid]",
}

// dieWithChild dies while a process that it has started lives, which must not
// outlive it.
func (s *session) dieWithChild(ctx context.Context) error {
	t := s.anyStep().then(pick(s.random, childStarters...))
	t = t.then(fmt.Sprintf("with open(%q, 'w') as file:\n    file.write(' '.join(map(str, pids)))", s.file("children")))
	t.slow = true
	if err := s.dieOf(ctx, t, pick(s.random, endings...)); err != nil {
		return err
	}
	path := filepath.Join(s.workdir, s.file("children"))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		if err := awaitDeath(pid); err != nil {
			return fmt.Errorf("a child of a crashed call: %w", err)
		}
	}
	return os.Remove(path)
}

// startChild starts a process that outlives the call, but not the interpreter.
func (s *session) startChild(ctx context.Context) error {
	code := "import subprocess\n" + childName + " = subprocess.Popen(['sleep', '1000'])"
	return s.ok(ctx, step{code: code, change: set(childName, child{}), slow: true})
}

// startThread starts a thread, with which the interpreter can't be copied.
func (s *session) startThread(ctx context.Context) error {
	code := fmt.Sprintf("import threading\n%[1]s = threading.Event()\n%[2]s = threading.Thread(target=%[1]s.wait, daemon=True); %[2]s.start()", eventName, threadName)
	s.counts.add("threads", 1)
	return s.ok(ctx, step{code: code, change: func(now *state) {
		now.variables[eventName], now.variables[threadName] = event{}, thread{alive: true}
	}})
}

func (s *session) endThread(ctx context.Context) error {
	code := fmt.Sprintf("%s.set(); %s.join()", eventName, threadName)
	return s.ok(ctx, step{code: code, change: func(now *state) {
		now.variables[eventName], now.variables[threadName] = event{set: true}, thread{}
	}})
}
