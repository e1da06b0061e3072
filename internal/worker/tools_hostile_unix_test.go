//go:build unix

package worker

import (
	"context"
	"testing"
	"time"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

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
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: `
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
`}, sink)
	must(t, err)
	if outcome.Exception != nil {
		t.Fatal(outcome.Exception.Traceback)
	}
	select {
	case <-called:
	case <-time.After(10 * time.Second):
		t.Fatal("what lingers has stopped the door")
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Close(context.Background()) }()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("the worker's end waits")
	}
}
