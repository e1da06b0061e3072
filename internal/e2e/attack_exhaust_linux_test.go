package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// exhaustion is an attempt to use up something that all have to share.
type exhaustion struct {
	name, tries, code string
	ends              []string // of these the answer says one
	arguments         map[string]any
}

// limitsToMeet are the flags of a server whose sessions soon have enough. A session
// must be able to hold much more than they say where a limit isn't kept: the code of
// each attempt has an end of its own, a while after its last step, since some limits are
// looked at from time to time.
var limitsToMeet = []string{
	"--memory-limit", "256MiB", "--process-limit", "64", "--open-file-limit", "256",
	"--file-size-limit", "8MiB", "--disk-limit", "32MiB", "--print-limit", "1MiB",
}

// fillDisk writes three times what the limit allows, as fast as it can, and more when
// somebody must have seen that.
const fillDisk = "for n in range(16):\n    open(f'part-{n}', 'wb').write(b'x' * (6 << 20))\ntime.sleep(10)\nopen('more', 'wb').write(b'x' * (6 << 20))\nprint('OPEN')"

var exhaustions = []exhaustion{
	{
		name: "memory", tries: "Takes memory by and by.",
		code: "hold = []\nfor _ in range(256):\n    hold.append(bytearray(os.urandom(1)) * (16 << 20))\nprint('OPEN')",
		ends: []string{"MemoryError", "memory limit"},
	},
	{
		name: "memory at once", tries: "Takes a lot of memory at once.",
		code: "hold = bytearray(4 << 30)\nprint('OPEN')",
		ends: []string{"MemoryError", "memory limit"},
	},
	{
		name: "memory of children", tries: "Takes memory in children, each of which takes less than the limit.",
		code: `
for _ in range(10):
    if os.fork() == 0:
        hold = bytearray(os.urandom(1)) * (100 << 20)
        time.sleep(30)
        os._exit(0)
time.sleep(30)
print("OPEN")`,
		ends: []string{"memory limit"},
	},
	{
		name: "shared memory", tries: "Takes memory that it shares with nobody as shared memory.",
		code: `
hold = []
for _ in range(16):
    hold.append(mmap.mmap(-1, 64 << 20))
    for at in range(0, 64 << 20, 4096):
        hold[-1][at] = 1
time.sleep(30)
print("OPEN")`,
		ends: []string{"MemoryError", "memory limit", "ENOMEM", "Cannot allocate"},
	},
	{
		name: "memory of files", tries: "Takes memory by files that are in memory and have no names.",
		code: `
hold = []
for _ in range(100):
    hold.append(os.memfd_create("hold"))
    os.write(hold[-1], b"x" * (6 << 20))
time.sleep(30)
print("OPEN")`,
		ends: []string{"MemoryError", "memory limit", "Cannot allocate", "PermissionError", "not implemented"},
	},
	{
		name: "memory of nobody", tries: "Takes memory by segments (System V) that no process has attached.",
		code: `
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
made = []
try:
    for _ in range(32):
        segment = libc.shmget(0, 16 << 20, 0o1600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        made.append(segment)
        at = libc.shmat(made[-1], None, 0)
        ctypes.memset(at, 1, 16 << 20)
        libc.shmdt(ctypes.c_void_p(at))
    time.sleep(30)
    print("OPEN")
finally:
    for each in made:
        libc.shmctl(each, 0, None)`,
		ends: []string{"memory limit", "Cannot allocate", "No space left", "not permitted", "not implemented"},
	},
	{
		name: "shared files", tries: "Takes memory by files in /dev/shm.",
		code: "for n in range(200):\n    open(f'/dev/shm/hold-{n}', 'wb').write(b'x' * (6 << 20))\nprint('OPEN')",
		ends: []string{"No space left", "memory limit", "disk limit"},
	},
	{
		name: "processes", tries: "Makes processes without end.",
		code: `
for _ in range(400):
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
time.sleep(30)
print("OPEN")`,
		ends: []string{"BlockingIOError", "process limit"},
	},
	{
		name: "threads", tries: "Starts threads without end.",
		code: `
stop = threading.Event()
try:
    for _ in range(400):
        threading.Thread(target=stop.wait, args=(30,), daemon=True).start()
    time.sleep(30)
    print("OPEN")
finally:
    stop.set()`,
		ends: []string{"can't start new thread", "process limit"},
	},
	{
		name: "open files", tries: "Opens files without end.",
		code: "hold = []\ntry:\n    for _ in range(2000):\n        hold.append(os.open('/dev/null', 0))\n    print('OPEN')\nfinally:\n    for fd in hold:\n        os.close(fd)",
		ends: []string{"Too many open files"},
	},
	{
		name: "a large file", tries: "Writes a large file.",
		code: "with open('large', 'wb', buffering=0) as file:\n    for _ in range(64):\n        file.write(b'x' * (1 << 20))\nprint('OPEN')",
		ends: []string{"File too large"},
	},
	{
		name: "a sparse file", tries: "Makes a file that is large without being written.",
		code: "with open('sparse', 'wb') as file:\n    file.truncate(1 << 40)\nprint('OPEN')",
		ends: []string{"File too large"},
	},
	{
		name: "the disk", tries: "Fills its working directory with files.",
		code: "time.sleep(5)\n" + fillDisk,     // until the server has seen what was there before
		ends: []string{"disk limit of 32 MiB"}, // by an exception, or its end
	},
	{
		name: "the disk at once", tries: "Fills its working directory before anybody has looked at it.",
		code: fillDisk,
		ends: []string{"disk limit of 32 MiB"},
	},
	{
		name: "output", tries: "Prints without end.",
		code: "for _ in range(64):\n    print('x' * (1 << 16))\ntime.sleep(30)\nprint('OP' + 'EN')",
		ends: []string{"output limit"},
	},
	{
		name: "processors", tries: "Keeps more processors busy than there are, and goes on when it is interrupted.",
		code: `
for _ in range(8):
    if os.fork() == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            pass
while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass`,
		arguments: map[string]any{"timeout": 2},
		ends:      []string{"[timeout]", "time limit"},
	},
}

// TestExhaustion has one session use up all that it can, while another client's goes on.
func TestExhaustion(t *testing.T) {
	for _, user := range attackUsers(t) {
		t.Run(user.name, func(t *testing.T) {
			t.Parallel()
			a := startAttacked(t, user, "understudy", append([]string{"--sandbox", "standard"}, limitsToMeet...)...)
			for _, e := range exhaustions {
				t.Run(e.name, func(t *testing.T) { a.exhaust(t, e) })
			}
		})
	}
}

func (a *attacked) exhaust(t *testing.T, e exhaustion) {
	over := make(chan struct{})
	var text string
	var err error
	go func() {
		defer close(over)
		code := "import ctypes, mmap, os, signal, threading, time\n" + e.code
		var record map[string]any
		record, text, err = callTool(a.attacker, "run_python_code", with(e.arguments, "code", code, "reset", true))
		text += fmt.Sprintf("\n%v: %v", record["exc_type"], record["exc_info"])
	}()
	answered := 0
	for running := true; running; {
		record, said := mustCall(t, a.victim, "run_python_code", map[string]any{"code": fmt.Sprintf("print(%d + 1)", answered)})
		if record["stdout"] != fmt.Sprintf("%d\n", answered+1) {
			t.Errorf("OPEN: %s Another client's session suffers: %s", e.tries, said)
		}
		answered++
		select {
		case <-over:
			running = false
		default:
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", e.tries, err)
	}
	record, said := mustCall(t, a.attacker, "run_python_code", map[string]any{"code": "print(6 * 7)", "reset": true})
	if record["stdout"] != "42\n" {
		t.Errorf("its session does not go on: %s", said)
	}
	ended := false
	for _, words := range e.ends {
		ended = ended || strings.Contains(text, words)
	}
	switch {
	case strings.Contains(text, "OPEN\n"):
		t.Errorf("OPEN: %s Nothing stopped it: %.1000s", e.tries, text)
	case !ended:
		t.Errorf("%s It ended otherwise than by one of %q: …%s", e.tries, e.ends, text[max(0, len(text)-1500):])
	default:
		t.Logf("%s Stopped; meanwhile another client had %d answers: …%s", e.tries, answered, text[max(0, len(text)-300):])
	}
}
