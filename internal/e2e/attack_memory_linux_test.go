package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// hog makes the server keep what a session says: by what code may be called, and by frames
// forged on the session's own socket to the server.
type hog struct {
	name, code string
	unfetched  int // how many more calls say it, whose answers nobody fetches
}

var hogs = []hog{
	{name: "names of variables", code: "for k in range(2): globals()[f'v{k}' + 'v' * 50_000_000] = 1"},
	{name: "many names", code: "for k in range(200): globals()[f'v{k}' + 'v' * 200_000] = 1"},
	{name: "many short names", code: "for k in range(300_000): globals()[f'v{k}'] = 1"},
	{name: "the name of a function", code: "def f(): 1 / 0\nf.__name__ = f.__qualname__ = 'f' * 50_000_000\nx = f\nx"},
	{name: "the name of a class that is shown", code: "x = type('C' * 50_000_000, (), {})()\nx"},
	{name: "the name of an exception", code: "raise type('E' * 50_000_000, (Exception,), {})('x')"},
	{name: "the module of an exception", code: "raise type('E', (Exception,), {'__module__': 'm' * 50_000_000})('x')"},
	{name: "the text of an exception", code: "raise ValueError('x' * 50_000_000)"},
	{name: "notes of an exception", code: "e = ValueError('x')\ne.__notes__ = ['n' * 1_000_000] * 50\nraise e"},
	{name: "exceptions of exceptions", code: "e = None\nfor k in range(300):\n    e, e.__cause__ = ValueError('x' * 200_000), e\nraise e"},
	{name: "a group of exceptions", code: "class Group(Exception): exceptions = [ValueError('x' * 10_000)] * 5_000\nraise Group"},
	{name: "the name of a module", code: "import sys, types\nm = sys.modules['m' * 50_000_000] = types.ModuleType('m' * 50_000_000)\nm"},
	{name: "the name of a module that isn't there", code: "__import__('m' * 10_000_000)"},
	{name: "the name of an attribute", code: "getattr(type('C', (), {'a' * 50_000_000: 1})(), 'a' * 50_000_001)"},
	{name: "names of code", code: `
def f(): raise ValueError
f.__code__ = f.__code__.replace(co_name='f' * 40_000_000, co_filename='g' * 40_000_000)
f()`},
	{name: "frames of code", code: "import sys\nsys.setrecursionlimit(200_000)\ndef f(n): return f(n - 1) if n else 1 / 0\nf(50_000)"},
	{name: "the name of a thread", code: "import threading, time\nthreading.Thread(target=time.sleep, args=(2,), name='t' * 50_000_000).start()"},
	{name: "an exception in a thread with a name", code: "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t' * 50_000_000)\nt.start()\nt.join()"},
	{name: "the name of a task", code: "import asyncio\ntask = asyncio.ensure_future(asyncio.sleep(2))\ntask.set_name('t' * 50_000_000)\ntask"},
	{name: "the name of a process", code: `
import multiprocessing, time
child = multiprocessing.get_context('fork').Process(target=time.sleep, args=(2,), name='p' * 50_000_000)
child.start()
open(f'/proc/{child.pid}/comm', 'w').write('p' * 1000)
child`},
	{name: "arguments of processes", code: "import subprocess, sys\nall = [subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(2)'] + ['x' * 100_000] * 15) for _ in range(20)]"},
	{name: "names of files", code: "for k in range(5_000): open(f'{k:05d}' + 'f' * 240, 'w').close()"},
	{name: "names of open files", code: "import os\nfor k in range(15): os.mkdir('d' * 250); os.chdir('d' * 250)\nfiles = [open(f'{k}' + 'f' * 200, 'w') for k in range(200)]"},
	{name: "the name of a logger", code: "import logging\nlogging.basicConfig()\nlogging.getLogger('l' * 50_000_000).warning('x')"},
	{name: "the category of a warning", code: "import warnings\nwarnings.warn('x' * 50_000_000, type('W' * 50_000_000, (Warning,), {}))"},
	{name: "a result", code: "x = {'k' * 50_000_000: ['v' * 50_000_000] * 3}\nx"},
	{name: "an environment", code: "import os\nfor k in range(200): os.environ[f'E{k}'] = 'e' * 100_000"},
	{name: "titles of figures", code: "import matplotlib.pyplot as plt\nplt.title('t' * 10_000)\nplt.show()"},
	{name: "names of figures", code: "import matplotlib.pyplot as plt\nplt.figure('n' * 50_000_000)\nplt.show()"},
	{name: "names of artifacts", code: "artifact('x', 'a' * 50_000_000)"},
	{name: "many artifacts", code: "for k in range(2_000): artifact('x' * 10_000, f'{k}.txt')"},
	{name: "types of what is displayed", code: "display({f'text/{k}' + 'm' * 1_000_000: 'x' * 1_000_000 for k in range(50)}, raw=True)"},
	{name: "names of displays", code: "for k in range(200): display('x', display_id=f'{k}' + 'd' * 100_000)"},
	{name: "a prompt", code: "import builtins\ntry: input('p' * 30_000_000)\nexcept Exception: pass"},
	{name: "forged titles", code: forging + "for _ in range(30): send('figure', title='t' * 30_000_000, **figure)"},
	{name: "forged titles of the longest", code: forging + "for _ in range(1_000): send('figure', title='t' * 30_000, **figure)", unfetched: 4},
	{name: "many forged names of figures", code: forging + "figure['names'] = [''] * 10_000\nfor _ in range(300): send('figure', title='t', **figure)", unfetched: 3},
	{name: "many forged figures", code: forging + "for _ in range(50_000): send('figure', title='t', **figure)"},
	{name: "forged displays", code: forging + "for k in range(20_000): send('figure', title='t', display_id=str(k), **figure)"},
	{name: "forged pictures", code: forging + "figure['attachments'] = [1 << 20]\nfor _ in range(30): send('figure', b'x' * (1 << 20), title='t', **figure)", unfetched: 8},
	{name: "the largest forged pictures", code: forging + "figure['attachments'] = [16 << 20]\nfor _ in range(3): send('figure', b'x' * (16 << 20), title='t', **figure)", unfetched: 3},
	{name: "many forged artifacts", code: forging + "for k in range(10_000): send('artifact', name=str(k), kind='txt', path='/x', mime_type='x', size=1, preview='p' * 1000)"},
	{name: "forged artifacts of the longest", code: forging + "for k in range(1_000): send('artifact', name=str(k) + 'n' * 30_000, kind='txt', path='/x', mime_type='x', size=1, preview='p')", unfetched: 4},
	{name: "many forged questions", code: forging + "for k in range(5_000): send('ask', question=k, prompt='p' * 20_000)"},
	{name: "many forged clearings", code: forging + "for _ in range(5): send('clear', execution=1, figures=True, artifacts=[''] * 1_000_000)"},
	{name: "forged messages for the log", code: forging + "for _ in range(10): send('log', level='warning', message='m' * 30_000_000)"},
	{name: "many forged messages for the log", code: forging + "for _ in range(20_000): send('log', level='warning', message='m' * 1000)"},
	{name: "a forged answer", code: forging + "send('done', execution=1, ok=True, notes=['n' * 1000] * 60_000)"},
	{name: "a forged answer of many notes", code: answering + "done(notes=[''] * 1_000_000)"},
	{name: "a forged answer of many frames", code: answering + "done(ok=False, exception={'type': 'E', 'info': {}, 'stack': [[]] * 1_000_000, 'traceback': ''})"},
	{name: "a forged answer of many names", code: answering + "done(variables={'added': [''] * 300_000, 'changed': [''] * 300_000, 'removed': [''] * 300_000})"},
	{name: "a forged result", code: answering + "done(result=[0] * 1_300_000, result_type='r' * 1000)"},
	{name: "a forged result that is deep", code: answering + "done(result='DEEP')"},
	{name: "many forged answers", code: answering + "for _ in range(1_000): done()"},
	{name: "a forged list of variables", code: forging + "for _ in range(5): send('variables', variables=[{}] * 1_000_000)"},
	{name: "forged frames of a type that isn't known", code: forging + "for _ in range(10_000): send('x' * 1000)"},
	{name: "a forged frame that never ends", code: forging + "for s in ends: s.sendall(struct.pack('>I', 4 << 20) + b' ' * ((4 << 20) - 1))"},
}

// forging has a session find its socket to the server, and send frames on it.
const forging = `
import json, os, socket, struct
def frames():
    for fd in map(int, os.listdir('/proc/self/fd')):
        try: s = socket.socket(fileno=os.dup(fd))
        except OSError: continue
        if s.family == socket.AF_UNIX and s.type == socket.SOCK_STREAM and fd > 2:
            try: s.getpeername(); yield s
            except OSError: pass
ends = list(frames())
figure = {'execution': 1, 'path': '/x', 'mime_type': 'image/png', 'width': 1, 'height': 1, 'names': [], 'attachments': [0]}
def send(type_, data=b'', **fields):
    header = json.dumps({'type': type_, **fields}, separators=(',', ':')).encode().replace(b'"DEEP"', b'[' * 9_000 + b']' * 9_000)
    for s in ends: s.sendall(struct.pack('>I', len(header)) + header + data)
`

// answering has a session answer its own run before the worker does.
const answering = forging + `
def done(**fields):
    send('done', **{'execution': RUN, 'ok': True, 'exec_time': 0, 'obstacle': '', 'variables': {}, **fields})
`

// TestServerMemory has one session say too much in each way that there is: the server
// keeps little of it, and another client's session goes on.
func TestServerMemory(t *testing.T) {
	withoutRace(t)
	for _, user := range attackUsers(t)[:1] { // whose the server is makes no difference to what it keeps
		t.Run(user.name, func(t *testing.T) {
			a := startAttacked(t, user, "understudy", withoutWall...)
			for _, h := range hogs {
				t.Run(h.name, func(t *testing.T) {
					before := a.serverMemory(t)
					text := a.hogs(t, h)
					grown := a.serverMemory(t) - before
					t.Logf("%d MiB more; …%s", grown>>20, text[max(0, len(text)-200):])
					if grown > mostGrown {
						t.Errorf("OPEN: the server grew by %d MiB", grown>>20)
					}
					if record, said := mustCall(t, a.victim, "run_python_code", map[string]any{"code": "print(6 * 7)"}); record["stdout"] != "42\n" {
						t.Errorf("another client's session suffers: %s", said)
					}
				})
			}
		})
	}
}

// hogs has a fresh session of the attacker's make one attack, and returns the last answer.
func (a *attacked) hogs(t *testing.T, h hog) (text string) {
	t.Helper()
	made, _ := mustCall(t, a.attacker, "manage_interpreters", map[string]any{"operation": "create"})
	id := made["interpreter_id"]
	call := func(arguments map[string]any) {
		arguments["interpreter_id"] = id
		var err error
		if _, text, err = callTool(a.attacker, "run_python_code", arguments); err != nil {
			t.Fatal(err)
		}
	}
	call(map[string]any{"code": "pass"}) // with a short wait it would not come to its plugins
	for n := range h.unfetched {
		call(map[string]any{"code": h.numbered(n + 2), "timeout": 60, "wait": 0.001})
		eventually(t, func() error {
			listed, _ := mustCall(t, a.attacker, "manage_interpreters", map[string]any{"operation": "list"})
			for _, each := range listed["interpreters"].([]any) {
				if each := each.(map[string]any); each["id"] == id && each["busy_with"] != nil {
					return errors.New("it runs")
				}
			}
			return nil
		})
	}
	call(map[string]any{"code": h.numbered(h.unfetched + 2), "timeout": 60})
	mustCall(t, a.attacker, "manage_interpreters", map[string]any{"operation": "delete", "interpreter_id": id})
	return text
}

// numbered is the code of a session's run, which knows its number.
func (h hog) numbered(run int) string { return fmt.Sprintf("RUN = %d\n%s", run, h.code) }

// TestServerMemoryOfMany has many sessions say too much at once, while another client's
// session goes on: what the server has room for is bounded for all of them together.
func TestServerMemoryOfMany(t *testing.T) {
	withoutRace(t)
	a := startAttacked(t, attackUsers(t)[0], "understudy", withoutWall...)
	before := a.serverMemory(t)
	var attacking sync.WaitGroup
	for n := range *manyHogs {
		made, _ := mustCall(t, a.attacker, "manage_interpreters", map[string]any{"operation": "create"})
		attacking.Go(func() {
			for k := range 3 {
				h := hogsOfMany[(n+k)%len(hogsOfMany)]
				arguments := map[string]any{"code": h.numbered(k + 1), "timeout": 60, "interpreter_id": made["interpreter_id"]}
				if _, _, err := callTool(a.attacker, "run_python_code", arguments); err != nil {
					t.Errorf("%s: %v", h.name, err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { attacking.Wait(); close(over) }()
	answered, slowest := 0, time.Duration(0)
	for running := true; running; answered++ {
		began := time.Now()
		if record, said := mustCall(t, a.victim, "run_python_code", map[string]any{"code": "print(6 * 7)"}); record["stdout"] != "42\n" {
			t.Errorf("another client's session suffers: %s", said)
		}
		slowest = max(slowest, time.Since(began))
		select {
		case <-over:
			running = false
		default:
		}
	}
	grown := a.serverMemory(t) - before
	t.Logf("%d sessions at once: %d MiB more; meanwhile another client had %d answers, the slowest after %s", *manyHogs, grown>>20, answered, slowest)
	if most := 5 * mostGrown; grown > most {
		t.Errorf("OPEN: the server grew by %d MiB", grown>>20)
	}
}

var manyHogs = flag.Int("hogs", 12, "how many sessions of TestServerMemoryOfMany say too much at once")

// hogsOfMany are those that cost the server most for what they cost the attacker.
var hogsOfMany = hogsNamed("forged titles of the longest", "the largest forged pictures", "a forged answer of many frames",
	"forged pictures", "a forged result", "forged artifacts of the longest", "many names")

func hogsNamed(names ...string) (found []hog) {
	for _, h := range hogs {
		if slices.Contains(names, h.name) {
			found = append(found, h)
		}
	}
	return found
}

// mostGrown is how many bytes the server may grow by.
const mostGrown int64 = 100 << 20

// withoutRace has the server be one that does not look for races, which would keep several
// bytes for each, and take ten times as long.
func withoutRace(t *testing.T) {
	t.Helper()
	if !lookForRaces() {
		return
	}
	dir := t.TempDir()
	if err := build(dir, false); err != nil {
		t.Fatal(err)
	}
	with := binary // no test runs beside this one
	binary = filepath.Join(dir, "understudy")
	t.Cleanup(func() { binary = with })
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// serverMemory returns the most memory, in bytes, that the server has had since the last
// question.
func (a *attacked) serverMemory(t *testing.T) int64 {
	t.Helper()
	pid := strconv.Itoa(a.cmd.Process.Pid)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	found := highWater.FindSubmatch(status)
	if found == nil {
		t.Fatalf("no VmHWM in %s", strings.TrimSpace(string(status)))
	}
	kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64)
	if err := os.WriteFile("/proc/"+pid+"/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
