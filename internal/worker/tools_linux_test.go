package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// A copy that leads, and a branch, ask by doors of their own, and no descriptor is left.
func TestToolsOfCopies(t *testing.T) {
	z := testZygote(t, withTools)
	before := openHere(t)
	w, u := equipped(t, z), &upstream{}
	runTools(t, w, u, "from mcptools import my_echo as m\nx = 'kept'")
	copied, err := w.Fork(context.Background(), sessions.ToStandBy)
	must(t, err)
	branch := branchOf(t, w, t.TempDir())
	must(t, branch.Equip(context.Background(), sessions.Equipment{}))
	theirs := &upstream{}
	if got := runTools(t, branch, theirs, "print(m.echo(x)['text'])"); got != "kept\n" || len(theirs.calls) != 1 || len(u.calls) != 0 {
		t.Errorf("the branch printed %q; it has asked %q, its original %q", got, theirs.calls, u.calls)
	}
	sink := workertest.NewRecorder()
	sink.Tools = u.answer
	if _, err := w.Run(context.Background(), sessions.Request{Execution: 2, Code: "m.echo('a'); import os; os.abort()"}, sink); err == nil {
		t.Fatal("it did not die")
	}
	<-w.Exited()
	next, err := copied.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir(), PrivateDir: t.TempDir(), FirstExecution: 1})
	must(t, err)
	must(t, w.Close(context.Background()))
	expect(t, len(next.Info().Notes) == 0, "it says %q", next.Info().Notes)
	must(t, next.Equip(context.Background(), sessions.Equipment{}))
	if got := runTools(t, next, u, "print(m.echo(x)['text'])"); got != "kept\n" || len(u.calls) != 2 {
		t.Errorf("the copy printed %q and has asked %q", got, u.calls)
	}
	must(t, next.Close(context.Background()))
	must(t, branch.Close(context.Background()))
	eventually(t, "all descriptors are closed", func() bool { return openHere(t) <= before })
}

func openHere(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// upstream answers for two servers: one echoes what it is called with, the other is down.
type upstream struct {
	mu    sync.Mutex
	calls []string
	// waits, if set, is told of each call of wait, which lasts until its ctx ends.
	waits chan error
}

const echoSchema = `{"type":"object","required":["text"],"properties":{"count":{"type":"integer","default":1},"text":{"type":"string","description":"what to say"},"from":{"enum":["a","b"]}}}`

func (u *upstream) answer(ctx context.Context, r sessions.ToolRequest) (*sessions.ToolAnswer, error) {
	body := ""
	var attachments [][]byte
	switch {
	case r.Op == sessions.ToolCatalog:
		body = `{"servers":[{"name":"my-echo","module":"my_echo","purpose":"says it again","state":"ready","tools":4}]}`
	case r.Op == sessions.ToolSearch:
		body = `{"tools":[{"server":"my-echo","module":"my_echo","name":"echo","function":"echo","summary":"says it again"}],"left_out":2}`
	case r.Op == sessions.ToolList:
		body = fmt.Sprintf(`{"server":"my-echo","module":"my_echo","purpose":"says it again","tools":[
			{"name":"echo","function":"echo","description":"Says it again.","input_schema":%s,"permission":"allowed"},
			{"name":"wait","function":"wait","input_schema":{"type":"object"}},
			{"name":"parts","function":"parts","input_schema":{"type":"object"}},
			{"name":"fail","function":"fail","input_schema":{"type":"object"}}]}`, echoSchema)
	case r.Op == sessions.ToolRead:
		body = `{"contents":[{"type":"resource","uri":"` + r.Name + `","text":"read"}]}`
	case r.Name == "wait":
		u.waits <- nil
		<-ctx.Done()
		u.waits <- ctx.Err()
		return nil, &sessions.ToolRefusal{Kind: sessions.RefusedCancelled, Message: "cancelled"}
	case r.Name == "fail":
		body = `{"is_error":true,"content":[{"type":"text","text":"no luck"}]}`
	case r.Name == "parts":
		body = `{"content":[{"type":"text","text":"a"},{"type":"image","mime_type":"image/x-none","attachment":1},{"type":"resource_link","uri":"file:///x","name":"x"}]}`
		attachments = [][]byte{nil, []byte("\x00\xff")}
	default:
		u.mu.Lock()
		u.calls = append(u.calls, string(r.Arguments))
		u.mu.Unlock()
		body = fmt.Sprintf(`{"structured":%s,"content":[]}`, r.Arguments)
	}
	if !json.Valid([]byte(body)) {
		return nil, errors.New("the test's answer is no JSON")
	}
	return &sessions.ToolAnswer{Body: json.RawMessage(body), Attachments: attachments}, nil
}

// equipped starts a worker that reaches other servers.
func equipped(t *testing.T, s sessions.Starter) sessions.Worker {
	t.Helper()
	w := workertest.Start(t, s)
	must(t, w.Equip(context.Background(), sessions.Equipment{}))
	return w
}

// runTools runs code and returns what it printed.
func runTools(t *testing.T, w sessions.Worker, u *upstream, code string) string {
	t.Helper()
	sink := workertest.NewRecorder()
	sink.Tools = u.answer
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, sink)
	must(t, err)
	if outcome.Exception != nil {
		t.Fatal(outcome.Exception.Traceback)
	}
	return sink.Text(sessions.Stdout)
}

func withTools(o *Options) { o.Tools = true }

func TestToolsFromCode(t *testing.T) {
	w, u := equipped(t, testSpawner(t, withTools)), &upstream{}
	for _, test := range []struct{ name, code, want string }{
		{"a call", "from mcptools import my_echo\nprint(my_echo.echo('hi', count=2, from_='a'))", "{'text': 'hi', 'count': 2, 'from': 'a'}\n"},
		{"what is not given is left out", "import mcptools\nprint(mcptools.my_echo.echo(text='x'))", "{'text': 'x'}\n"},
		{"a signature", "import inspect, mcptools.my_echo as m\nprint(inspect.signature(m.echo))", "(text: str, count: int = 1, from_: Optional[Literal['a', 'b']] = None) -> Any\n"},
		{"what is there", "print(mcptools.servers(), mcptools.search('say'), dir(m))", "my_echo: ready, 4 tools. says it again my_echo.echo(text, count=1, from_=None): says it again\n… and 2 more ['echo', 'fail', 'parts', 'wait']\n"},
		{"a misspelt argument", "try: m.echo(txt=1)\nexcept TypeError as e: print(e)", "echo() got an unexpected argument 'txt'; did you mean 'text'?\n"},
		{"a missing one", "try: m.echo()\nexcept TypeError as e: print(e)", "echo() missing 1 required argument: 'text'\n"},
		{"one of another type", "try: m.echo(text=[1])\nexcept TypeError as e: print(e)", "echo() argument 'text' must be string, not list ([1])\n"},
		{"a misspelt server", "try: mcptools.my_ech\nexcept AttributeError as e: print(e)", "mcptools has no server 'my_ech'; did you mean 'my_echo'? There are: my_echo\n"},
		{"an error", "try: m.fail()\nexcept mcptools.ToolError as e: print(e, e.kind, e.server, e.tool)", "no luck error my-echo fail\n"},
		{"parts", "a, b, c = m.parts()\nprint(a, b.data, c.uri, c.read())", "a b'\\x00\\xff' file:///x read\n"},
		{"threads", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(20) as p: print(sum(r['count'] for r in p.map(lambda i: m.echo('x', i), range(100))))", "4950\n"},
		{"a pool", "import multiprocessing\ndef f(i): return m.echo('x', i)['count']\nwith multiprocessing.get_context('fork').Pool(3) as p: print(sum(p.map(f, range(20))))", "190\n"},
		{"await", "import asyncio\nfrom mcptools.aio import my_echo as later\nprint(sum(r['count'] for r in await asyncio.gather(*(later.echo('x', i) for i in range(100)))))", "4950\n"},
		{"too long", "try: m.echo('x' * 5_000_000)\nexcept mcptools.ToolError as e: print(e.kind, e)", "limit the arguments are too large: 4 MiB as JSON are allowed\n"},
		{"large answers", "print(len(m.echo('x' * 3_000_000)['text']))", "3000000\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.ReplaceAll(runTools(t, w, u, test.code), "typing.", ""); got != test.want {
				t.Errorf("got %.500q, want %.500q", got, test.want)
			}
		})
	}
}

// Who waits no more is heard of: by an interrupt, by the run's end, by the death of the
// worker.
func TestToolsAreCancelled(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		end  func(t *testing.T, w sessions.Worker)
	}{
		"an interrupt":   {"m.wait()", func(t *testing.T, w sessions.Worker) { must(t, w.Interrupt()) }},
		"of a coroutine": {"await later.wait()", func(t *testing.T, w sessions.Worker) { must(t, w.Interrupt()) }},
		"a kill":         {"m.wait()", func(_ *testing.T, w sessions.Worker) { w.Kill() }},
		"the run's end":  {"import threading\nthreading.Thread(target=m.wait, daemon=True).start()\ninput()", func(*testing.T, sessions.Worker) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w, u := equipped(t, testSpawner(t, withTools)), &upstream{waits: make(chan error)}
			runTools(t, w, u, "from mcptools import my_echo as m\nfrom mcptools.aio import my_echo as later")
			sink := workertest.NewRecorder()
			sink.Tools = u.answer
			ended := make(chan error, 1)
			go func() {
				_, err := w.Run(context.Background(), sessions.Request{Execution: 2, Code: test.code}, sink)
				ended <- err
			}()
			<-u.waits
			if name == "the run's end" {
				question := <-sink.Asked()
				question.Reply(sessions.Reply{Text: "go on"})
			}
			test.end(t, w)
			err := <-u.waits
			expect(t, errors.Is(err, context.Canceled), "the call was told %v", err)
			if err := <-ended; name != "a kill" {
				must(t, err)
				got := runTools(t, w, u, "print(m.echo('on')['text'])")
				expect(t, got == "on\n", "the next run printed %q", got)
			}
		})
	}
}

// Between two runs nothing is called, and the code is told so: here a task of the event loop,
// which goes on when the run is over.
func TestToolsBetweenRuns(t *testing.T) {
	w, u := equipped(t, testSpawner(t, withTools)), &upstream{}
	runTools(t, w, u, `
import asyncio
from mcptools.aio import my_echo as m
async def on_and_on():
    try:
        while True: await m.echo("x")
    except Exception as error: print(error, flush=True)
task = asyncio.create_task(on_and_on())
`)
	eventually(t, "the task has called", func() bool { return w.Unclaimed() > 0 })
	got := string(w.Between()[0].Text)
	expect(t, strings.HasPrefix(got, "tools of other servers can be called during a run only") || strings.HasPrefix(got, "the run has ended"), "it was told %q", got)
}

// What is no request harms nobody, and nothing of it stays open.
func TestForgedToolRequests(t *testing.T) {
	w, u := equipped(t, testSpawner(t, withTools)), &upstream{}
	got := runTools(t, w, u, `
import array, os, socket
from pyworker.mcptools import door as d
from mcptools import my_echo as m
door = socket.socket(fileno=os.dup(d._door.fileno()))
def send(*fds, data=b"."):
    door.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
files = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
a, b = socket.socketpair()
e, f = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for _ in range(50):
    send(); send(files[0]); send(*files); send(a.fileno(), b.fileno()); send(f.fileno()); send(data=b"x" * 10_000)
for junk in (b"", b"\xff\xff\xff\xff", b"\0\0\0\2{}", b"\0\0\0\5junk!", b'\0\0\0\x0f{"type":"done"}'):
    x, y = socket.socketpair()
    send(y.fileno()); y.close()
    x.sendall(junk); x.shutdown(socket.SHUT_WR)
    print(x.recv(10))
print(m.echo("on")["text"])
`)
	if want := strings.Repeat("b''\n", 5) + "on\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Neither half requests, answers that nobody reads, sockets whose reads block in the kernel
// and whose close would linger, nor another server that does not let go hold up the end.
func TestNothingHoldsUpTheEnd(t *testing.T) {
	w := equipped(t, testSpawner(t, withTools))
	called, release := make(chan struct{}, 100), make(chan struct{})
	defer close(release)
	sink := workertest.NewRecorder()
	sink.Tools = func(_ context.Context, r sessions.ToolRequest) (*sessions.ToolAnswer, error) {
		if r.Op == sessions.ToolCall {
			called <- struct{}{}
			<-release
		}
		return &sessions.ToolAnswer{Body: []byte(`{}`), Attachments: [][]byte{make([]byte, 4<<20)}}, nil
	}
	ran := make(chan workertest.End, 1)
	go func() {
		outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: lingering}, sink)
		ran <- workertest.End{Outcome: outcome, Err: err}
	}()
	question := <-sink.Asked() // all is sent, and the run goes on until the door has let it in
	select {
	case <-called:
	case <-time.After(30 * time.Second):
		t.Fatal("what lingers has stopped the door")
	}
	question.Reply(sessions.Reply{Text: "end"})
	end := <-ran
	must(t, end.Err)
	if end.Outcome.Exception != nil {
		t.Fatal(end.Outcome.Exception.Traceback)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Close(context.Background()) }()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("the worker's end waits")
	}
}

// lingering is code that sends all of it.
const lingering = `
import array, os, socket, struct
from pyworker import protocol
from pyworker.mcptools import door as d
door, kept = socket.socket(fileno=os.dup(d._door.fileno())), []
def send(s, data=b"."):
    door.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
def request(op):
    x, y = socket.socketpair()
    x.sendall(b"".join(protocol.encode({"type": "tool_request", "op": op})))
    send(y)
    kept.extend((x, y))
    return y
listener = socket.create_server(("127.0.0.1", 0))
stuck = socket.create_connection(listener.getsockname())
stuck.setblocking(False)
try:
    while stuck.send(b"x" * 100_000): pass
except BlockingIOError: pass
stuck.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60_000))
send(stuck, b"")
stuck.close()
for _ in range(5): request("call"); request("catalog").setblocking(True)
for _ in range(3):
    x, y = socket.socketpair()
    x.sendall(b"\0\0")
    send(y); y.setblocking(True); kept.extend((x, y))
input()
`
