package worker

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// testStage returns a stage and the worker's descriptors of it.
func testStage(t *testing.T) (s *stage, memory, bell *os.File) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("stages are for x86 only: see newStage")
	}
	s, child := newStage()
	if s == nil {
		t.Fatal("no stage")
	}
	t.Cleanup(func() {
		s.close()
		closeFiles(child)
	})
	return s, child[0], child[1]
}

// The worker's code can write to the memory what it likes: the server delivers
// too much of it or nothing, and reads nowhere else.
func TestStageOutlivesNonsense(t *testing.T) {
	s, _, _ := testStage(t)
	size := 0
	count := func(_ sessions.Stream, text []byte) { size += len(text) }
	for _, head := range []uint64{stageSize + 1, 1 << 63, ^uint64(0)} {
		*s.word(headWord) = head
		s.deliver(count)
	}
	if size != 0 {
		t.Errorf("%d bytes of nothing were delivered", size)
	}
	*s.word(headWord) = 10
	s.deliver(count)
	*s.word(headWord) = 9
	*s.word(tailWord) = 1 << 40
	s.deliver(count)
	if size != 10 {
		t.Errorf("%d bytes were delivered, want 10", size)
	}
}

func TestStageDeliversAroundTheEnd(t *testing.T) {
	s, _, _ := testStage(t)
	s.tail = stageSize - 3
	copy(s.memory[stageHeader+stageSize-3:], "abc")
	copy(s.memory[stageHeader:], "def")
	*s.word(headWord) = stageSize + 3
	var got bytes.Buffer
	s.deliver(func(_ sessions.Stream, text []byte) { got.Write(text) })
	if got.String() != "abcdef" || *s.word(tailWord) != stageSize+3 {
		t.Errorf("got %q, tail %d", got.String(), *s.word(tailWord))
	}
}

// A file that its other owner could shrink would kill the server.
func TestStageKeepsItsSize(t *testing.T) {
	_, memory, _ := testStage(t)
	for _, size := range []int64{0, 1 << 30} {
		if err := unix.Ftruncate(int(memory.Fd()), size); err == nil {
			t.Errorf("the memory's size was set to %d", size)
		}
	}
}

// The answer to a handshake means that nothing is under way: what is in the pipes
// is delivered before it, though the bell was rung first.
func TestHandshakeEmptiesThePipes(t *testing.T) {
	s, _, bell := testStage(t)
	r, w, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := newPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles([]*os.File{w, w2})
	p, err := newOutputPipes([2]*os.File{r, r2}, s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	defer p.wake()
	copy(s.memory[stageHeader:], "staged ")
	*s.word(headWord) = uint64(len("staged "))
	*s.word(requestWord) = 1
	if _, err := bell.Write([]byte{1, 0, 0, 0, 0, 0, 0, 1}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.WriteString("out ")
	_, _ = w2.WriteString("err")
	var got bytes.Buffer
	p.readReady(int(p.epoll.Fd()), make([]byte, 100), noLimit, func(_ sessions.Stream, text []byte) {
		if *s.word(answerWord) != 0 {
			t.Errorf("%q comes after the answer", text)
		}
		got.Write(text)
	})
	if got.String() != "staged out err" || *s.word(answerWord) != 1 {
		t.Errorf("got %q, answer %d", got.String(), *s.word(answerWord))
	}
}

// Code that scribbles over the ring's header while it prints harms its own
// output and nothing else.
func TestScribblerHarmsItself(t *testing.T) {
	w := start(t, testSpawner(t))
	workertest.Run(t, w, `
import gc, mmap, struct
for i in range(2000): print(i)
[ring] = [m for m in gc.get_objects() + [r for o in gc.get_objects() for r in gc.get_referents(o)] if type(m) is mmap.mmap][:1]
for word in range(16): ring[8 * word:8 * word + 8] = b"\xff" * 8
for i in range(2000): print(i)
`)
	_, sink := workertest.Run(t, w, "print('still here')")
	if got := sink.Text(sessions.Stdout); got != "still here\n" {
		t.Errorf("got %q", got)
	}
	other := start(t, testSpawner(t))
	if _, err := other.Run(context.Background(), sessions.Request{Execution: 1, Code: "pass"}, sink); err != nil {
		t.Error(err)
	}
}

// A dead worker's descriptors are given back, those of its stage too.
func TestStageIsClosedWithItsWorker(t *testing.T) {
	s := testSpawner(t)
	run := func() {
		w, err := s.Start(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		workertest.Run(t, w, "for i in range(3000): print(i)")
		if err := w.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	before, maps := openDescriptors(t), stageMaps(t)
	for range 3 {
		run()
	}
	// The goroutines that read a dead worker's pipes close them a little later.
	eventually(t, "descriptors are given back", func() bool { return openDescriptors(t) <= before })
	eventually(t, "stages are unmapped", func() bool { return stageMaps(t) <= maps })
}

func stageMaps(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("understudy-stage"))
}
