package main

import (
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hogs make the server keep what a session says: by what code may be called, and by frames
// forged on the session's own socket to the server.
var hogs = []struct{ name, code string }{
	{"names of variables", "for k in range(2): globals()[f'v{k}' + 'v' * 50_000_000] = 1"},
	{"many names", "for k in range(200): globals()[f'v{k}' + 'v' * 200_000] = 1"},
	{"the name of an exception", "raise type('E' * 50_000_000, (Exception,), {})('x')"},
	{"the text of an exception", "raise ValueError('x' * 50_000_000)"},
	{"exceptions of exceptions", "e = None\nfor k in range(300):\n    e, e.__cause__ = ValueError('x' * 200_000), e\nraise e"},
	{"names of code", `
def f(): raise ValueError
f.__code__ = f.__code__.replace(co_name='f' * 40_000_000, co_filename='g' * 40_000_000)
f()`},
	{"the name of a class that is shown", "x = type('C' * 50_000_000, (), {})()\nx"},
	{"titles of figures", "import matplotlib.pyplot as plt\nplt.title('t' * 10_000)\nplt.show()"},
	{"a prompt", "import builtins\ntry: input('p' * 30_000_000)\nexcept Exception: pass"},
	{"forged titles", forging + "for _ in range(30): send('figure', title='t' * 30_000_000, **figure)"},
	{"many forged figures", forging + "for _ in range(50_000): send('figure', title='t', **figure)"},
	{"many forged artifacts", forging + "for k in range(10_000): send('artifact', name=str(k), kind='txt', path='/x', mime_type='x', size=1, preview='p' * 1000)"},
	{"forged messages for the log", forging + "for _ in range(10): send('log', level='warning', message='m' * 30_000_000)"},
	{"many forged messages for the log", forging + "for _ in range(20_000): send('log', level='warning', message='m' * 1000)"},
	{"a forged answer", forging + "send('done', execution=1, ok=True, notes=['n' * 1000] * 60_000)"},
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
def send(type_, **fields):
    header = json.dumps({'type': type_, **fields}).encode()
    for s in ends: s.sendall(struct.pack('>I', len(header)) + header)
`

// TestServerMemory has one session say too much in each way that there is: the server
// keeps little of it, and another client's session goes on.
func TestServerMemory(t *testing.T) {
	user := attackUsers(t)[0]
	a := startAttacked(t, user, "understudy", withoutWall...)
	for _, hog := range hogs {
		t.Run(hog.name, func(t *testing.T) {
			before := a.serverMemory(t)
			_, text, err := callTool(a.attacker, "run_python_code", map[string]any{"code": hog.code, "timeout": 60})
			if err != nil {
				t.Fatal(err)
			}
			grown := a.serverMemory(t) - before
			t.Logf("%d MiB more; …%s", grown>>20, text[max(0, len(text)-200):])
			if grown > mostGrown() {
				t.Errorf("OPEN: the server grew by %d MiB", grown>>20)
			}
			if _, _, err := callTool(a.attacker, "manage_interpreters", map[string]any{"operation": "restart"}); err != nil {
				t.Fatal(err)
			}
			if record, said := mustCall(t, a.victim, "run_python_code", map[string]any{"code": "print(6 * 7)"}); record["stdout"] != "42\n" {
				t.Errorf("another client's session suffers: %s", said)
			}
		})
	}
}

// mostGrown is how many bytes the server may grow by. The race detector keeps several
// for each.
func mostGrown() int64 {
	info, _ := debug.ReadBuildInfo()
	if info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 600 << 20
	}
	return 100 << 20
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
