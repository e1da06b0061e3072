package worker

import (
	"context"
	"fmt"
	"testing"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// TestUsage: the memory of a process is told while it lives.
func TestUsage(t *testing.T) {
	w := workertest.Start(t, testZygote(t))
	before := w.Resident()
	if before < 1<<20 {
		t.Errorf("%d bytes", before)
	}
	const size = 64 << 20
	workertest.Run(t, w, fmt.Sprintf("x = b'x' * %d", size))
	if grown := w.Resident() - before; grown < size || grown > 2*size {
		t.Errorf("it grew by %d bytes", grown)
	}
	if usage, err := w.Usage(); err != nil || usage.Memory < size || usage.Private < size {
		t.Errorf("%+v, %v", usage, err)
	}
	workertest.RunToDeath(t, w, "import os; os._exit(9)")
	if _, err := w.Usage(); err == nil {
		t.Error("a dead worker uses something")
	}
	if after := w.Resident(); after != 0 {
		t.Errorf("%d bytes of a process that has ended", after)
	}
}

func BenchmarkResident(b *testing.B) {
	w := workertest.Start(b, testSpawner(b))
	for b.Loop() {
		if w.Resident() == 0 {
			b.Fatal("nothing")
		}
	}
}

// discard is a Sink that counts bytes.
type discard struct{ size int64 }

func (d *discard) Output(_ sessions.Stream, text []byte) { d.size += int64(len(text)) }
func (d *discard) Figure(sessions.Figure)                {}
func (d *discard) Artifact(sessions.Artifact)            {}
func (d *discard) Clear(sessions.Cleared)                {}

// BenchmarkRun is a warm execution by a worker that does nothing else: what this
// package and the system add.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, start(b, fakeSpawner(b)), "1+1", 0) }

// BenchmarkRunPrinting has one line to deliver.
func BenchmarkRunPrinting(b *testing.B) {
	benchmarkRun(b, start(b, fakeSpawner(b)), "print(2)", 2)
}

// BenchmarkOutput moves 100 MB of lines of 100 bytes.
func BenchmarkOutput(b *testing.B) {
	b.SetBytes(100e6)
	benchmarkRun(b, start(b, fakeSpawner(b)), "for _ in range(10**6): print('x' * 99)", 100e6)
}

func benchmarkRun(b *testing.B, w sessions.Worker, code string, size int64) {
	for b.Loop() {
		sink := &discard{}
		if _, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, sink); err != nil {
			b.Fatal(err)
		}
		if sink.size != size {
			b.Fatalf("%d bytes of output, want %d", sink.size, size)
		}
	}
}

// BenchmarkPrints moves 100 MB through the real worker's print, in lines of 100
// and of 1,000 bytes.
func BenchmarkPrints(b *testing.B) {
	for _, length := range []int{100, 1000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			b.SetBytes(100e6)
			code := fmt.Sprintf("line = 'x' * %d\nfor _ in range(%d): print(line)", length-1, int(100e6)/length)
			benchmarkRun(b, start(b, testSpawner(b)), code, 100e6)
		})
	}
}

// Ask refuses: nobody is there.
func (*discard) Ask(q sessions.Question) { q.Reply(sessions.Reply{Refusal: "nobody is there"}) }
