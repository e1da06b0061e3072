package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
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

func (s *session) anyEnding() ending { return pick(s.random, endings...) }

// die runs a step and then dies: nothing of the step may be left but what it
// printed and wrote.
func (s *session) die() { s.dieOf(s.anyStep(), s.anyEnding()) }

// dieInFlood dies while it prints much.
func (s *session) dieInFlood() { s.dieOf(s.bulk(), s.anyEnding()) }

func (s *session) dieOf(t step, e ending) {
	t = t.then(e.code)
	t.stderr += e.stderr
	s.died(e.name, s.run(t, nil, crash(e.reason)))
}

// died counts a death and what became of the state.
func (s *session) died(name string, a answer) {
	s.counts.add("died of: "+name, 1)
	s.counts.add("deaths", 1)
	if a.record.restored() {
		s.counts.add("restored", 1)
	}
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
func (s *session) dieWithChild() {
	t := s.anyStep().then(pick(s.random, childStarters...))
	t = t.then(fmt.Sprintf("with open(%q, 'w') as file:\n    file.write(' '.join(map(str, pids)))", s.file("children")))
	t.slow = true
	s.dieOf(t, s.anyEnding())
	for _, field := range strings.Fields(string(must(os.ReadFile(s.path("children"))))) {
		s.awaitDeath(must(strconv.Atoi(field)))
	}
	fail(os.Remove(s.path("children")))
}

// kill kills a process of the session's and waits until it is dead.
func (s *session) kill(pid int) {
	if pid == 0 {
		failf("the list has no process")
	}
	if err := killProcess(pid); err != nil {
		failf("killing process %d: %w", pid, err)
	}
	s.awaitDeath(pid)
}

// awaitDeath waits for the end of a process that ought to have ended.
func (s *session) awaitDeath(pid int) {
	s.eventually(endTime, func() error {
		if isRunning(pid) {
			return fmt.Errorf("process %d still lives", pid)
		}
		return nil
	})
}

// settled waits until the list says of the idle session what must be: then the
// copy of its state has been made, if it can be. It returns the process.
func (s *session) settled() int {
	l := s.listedAs(s.model.recoverable())
	fail(same("status in the list", l.Status, "running")) // its process is
	return l.PID
}

// listedAs waits until the list says whether the state is recoverable.
func (s *session) listedAs(recoverable bool) (l listing) {
	s.eventually(endTime, func() error {
		l = s.listed()
		return same("recoverable in the list", l.Recoverable, recoverable)
	})
	return l
}

// killIdle kills the process while nothing runs and its state has been copied.
func (s *session) killIdle() {
	s.kill(s.settled())
	s.afterKill(true)
}

// killJustAfter kills the process in the moment in which an answer has come:
// the copy of its state may not have been made yet.
func (s *session) killJustAfter() {
	pid := s.settled()
	s.work()
	s.kill(pid)
	s.afterKill(false)
}

// afterKill makes the first call after the process was killed while nothing
// ran. Two outcomes are legitimate as far as the call goes: the server knew of
// the death, brought the state back and ran the code; or it did not know yet,
// so that the code met a dead process and did not run. If the copy of the
// state had not been made for sure, the state may be lost besides.
func (s *session) afterKill(copied bool) {
	t := step{code: "pass"}
	a := s.send(runTool, s.arguments(t, nil))
	lost := !copied && !a.record.restored() && s.model.recoverable()
	w := crash("SIGKILL")
	switch {
	case a.record.Status != "crashed":
		w = fine
		s.diesIdle(a.record, lost)
	case lost:
		w.lost = "cop"
	}
	s.died("SIGKILL between two calls", a)
	s.judge(a, t, w)
}

// diesIdle is the model's death while nothing runs, which the next answer must say.
func (s *session) diesIdle(r record, lost bool) {
	restored := must(s.model.dies(r, lost))
	s.model.died = &restored
}

// killRunning kills the process while it runs code that has told so.
func (s *session) killRunning() {
	l := s.begin(s.anyStep(), pick(s.random, slices.Concat(endless, stubborn)...))
	s.kill(s.listed().PID)
	l.endCrashed(crash("SIGKILL"), "SIGKILL from outside")
}

// endCrashed waits for the end of an execution whose process died.
func (l *long) endCrashed(w want, name string) {
	l.end(w)
	l.session.died(name, l.last)
}

// killSometime kills the process at any moment of a short call. It may be dead
// before the code runs, while it runs, or after it has come to its end.
func (s *session) killSometime() {
	pid, n := s.settled(), s.small()
	t := step{
		code:   fmt.Sprintf("import time\nv_0 = %d\nfor _ in range(10):\n    time.sleep(0.001)\nv_1 = %d\n", n, n+1),
		change: func(now *state) { now.variables["v_0"], now.variables["v_1"] = number(n), number(n+1) },
	}
	moment := time.Duration(s.random.IntN(25_000)) * time.Microsecond
	killed := make(chan error, 1)
	time.AfterFunc(moment, func() { killed <- killProcess(pid) })
	a := s.send(runTool, s.arguments(t, nil))
	fail(<-killed)
	s.awaitDeath(pid)
	switch {
	case a.record.Status == "crashed":
		s.died("SIGKILL from outside", a)
		s.judge(a, t, crash("SIGKILL"))
	case a.record.InterpreterRestarted:
		s.diesIdle(a.record, false)
		s.judge(a, t, fine)
	default:
		s.judge(a, t, fine)
		s.afterKill(false)
	}
}

// killFlood kills the process while it prints without end. What has come is
// the beginning of what it would have printed, without a gap.
func (s *session) killFlood() {
	flood := blocker{"i = 0", "while True:\n    print(f'line {i:07d} ' + 'x' * 50)\n    i += 1"}
	l := s.begin(s.quickStep(), flood)
	pid := s.listed().PID
	time.Sleep(time.Duration(s.random.IntN(50)) * time.Millisecond)
	s.kill(pid)
	l.wait()
	all := l.last.record.Stdout
	if path := l.last.record.OutputPath; path != "" {
		all = string(must(os.ReadFile(path)))
	}
	var would strings.Builder
	would.WriteString(l.step.stdout)
	for i := 0; would.Len() < len(all); i++ {
		would.WriteString(bulkLine(i))
	}
	if len(all) < len(l.step.stdout) || !strings.HasPrefix(would.String(), all) {
		failf("the output before the death has a gap: %s", shorten(all))
	}
	l.step.stdout, l.last.record.Stdout, l.last.record.StdoutTruncated = all, all, 0
	s.died("SIGKILL from outside in a flood", l.last)
	s.judge(l.last, l.step, crash("SIGKILL"))
}

// killUnderstudies kills the newest understudy, or all that are the lead's
// children, while nothing runs. The state must survive a crash all the same.
func (s *session) killUnderstudies() {
	understudies := s.understudies(s.settled())
	if s.random.IntN(2) == 0 {
		understudies = understudies[len(understudies)-1:]
	} else {
		s.model.killUnderstudies()
	}
	s.killAll(understudies)
	if s.random.IntN(2) == 0 {
		s.takeBack()
	} else {
		s.die()
	}
}

// killUnderstudiesInCall kills them while code runs that then dies: the one
// way to lose the present state for good.
func (s *session) killUnderstudiesInCall() {
	s.settled()
	gate, e := s.gate(), s.anyEnding()
	l := s.begin(s.anyStep(), blocker{gate.setup, gate.code + "\n" + e.code})
	s.killAll(s.understudies(s.listed().PID))
	s.model.killUnderstudies()
	l.step.stderr += e.stderr
	s.openGate()
	w := crash(e.reason)
	w.lost = "from outside"
	l.endCrashed(w, e.name)
}

// understudies returns the lead's children, of which the newest holds the
// present state.
func (s *session) understudies(lead int) []int {
	all := childrenOf(lead)
	if len(all) == 0 {
		failf("process %d has no understudy", lead)
	}
	return all
}

// killAll kills understudies and waits until the server knows of it.
func (s *session) killAll(pids []int) {
	for _, pid := range pids {
		s.kill(pid)
	}
	s.listedAs(false)
}
