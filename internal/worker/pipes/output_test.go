package pipes

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/check"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

var expect, insist = check.Expect, check.Insist

// testOutputs returns outputs and the writing ends of their pipes.
func testOutputs(t *testing.T) (*Outputs, [2]*os.File) {
	t.Helper()
	var readers, writers [2]*os.File
	for i := range readers {
		var err error
		if readers[i], writers[i], err = newPipe(); err != nil {
			t.Fatal(err)
		}
	}
	o, err := newOutputs(readers[0], readers[1])
	insist(t, err == nil, "%v", err)
	t.Cleanup(func() {
		o.Close()
		CloseFiles(writers[:])
	})
	return o, writers
}

// Many rounds, because what is written just before detach must be there without
// the pump having had its turn.
func TestDetachHasAllThatWasWritten(t *testing.T) {
	t.Parallel()
	o, writers := testOutputs(t)
	for range 2000 {
		sink := workertest.NewRecorder()
		o.Attach(sink)
		for _, text := range []string{"a", "bc", "d\n"} {
			_, _ = writers[0].WriteString(text)
			_, _ = writers[1].WriteString(text)
		}
		o.Detach()
		_, _ = writers[0].WriteString("later")
		out, err := sink.Text(sessions.Stdout), sink.Text(sessions.Stderr)
		insist(t, out == "abcd\n" && err == out, "got %q and %q", out, err)
		next := workertest.NewRecorder()
		o.Attach(next)
		o.Detach()
		got := next.Text(sessions.Stdout)
		insist(t, got == "later", "held output: got %q", got)
	}
}

// TestDetachDoesNotFollowAFlood: a child that never stops printing must not keep
// an execution from ending.
func TestDetachDoesNotFollowAFlood(t *testing.T) {
	t.Parallel()
	o, writers := testOutputs(t)
	chunk := bytes.Repeat([]byte("y\n"), 32<<10)
	var flood sync.WaitGroup
	stopped := make(chan struct{})
	flood.Go(func() {
		for {
			select {
			case <-stopped:
				return
			default:
				_, _ = writers[0].Write(chunk)
			}
		}
	})
	for range 50 {
		o.Attach(workertest.NewRecorder())
		o.Detach()
	}
	close(stopped)
	flood.Wait()
}

func TestHeldKeepsTheNewestAndSaysSo(t *testing.T) {
	t.Parallel()
	var h held
	for range 40 {
		h.add(sessions.Stdout, bytes.Repeat([]byte("o"), heldPieceSize))
	}
	h.add(sessions.Stderr, []byte("end"))
	expect(t, h.size <= heldLimit, "%d bytes are held, the limit is %d", h.size, heldLimit)
	if got := h.tail(sessions.Stderr, 2); got != "nd" {
		t.Errorf("tail: got %q", got)
	}
	sink := workertest.NewRecorder()
	h.flush(sink)
	out := sink.Text(sessions.Stdout)
	note, rest, _ := strings.Cut(out, "\n")
	expect(t, strings.Contains(note, "bytes printed between two executions were dropped"), "no note: %.80q", out)
	dropped := 40*heldPieceSize - len(rest)
	expect(t, strings.Contains(note, fmt.Sprintf("[%d ", dropped)), "%q, but %d bytes are missing", note, dropped)
	if got := sink.Text(sessions.Stderr); got != "end" {
		t.Errorf("stderr: got %q", got)
	}
	expect(t, len(h.pieces) == 0 && h.size == 0 && h.dropped == 0, "something is held after the flush")
}

func TestHeldBoundsManySmallPieces(t *testing.T) {
	t.Parallel()
	var h held
	for i := range 100_000 {
		h.add(sessions.Stream(i%2), []byte("x"))
	}
	expect(t, len(h.pieces) <= heldLimit/heldPieceCost, "%d pieces are held", len(h.pieces))
}

// TestOutputBetweenTwoExecutionsIsTakenOnce: by the next execution, or by who asks before.
func TestOutputBetweenTwoExecutionsIsTakenOnce(t *testing.T) {
	t.Parallel()
	o, writers := testOutputs(t)
	sink := workertest.NewRecorder()
	o.Attach(sink)
	_, _ = writers[0].WriteString("during")
	pieces := o.Take()
	expect(t, pieces == nil, "taken during an execution: %q", pieces)
	o.Detach()
	_, _ = writers[1].WriteString("after")
	want := []sessions.Piece{{Stream: sessions.Stderr, Text: []byte("after")}}
	if got := o.Take(); !cmp.Equal(got, want) {
		t.Errorf("taken: %q", got)
	}
	size := o.Size()
	expect(t, size == 0, "%d bytes are left", size)
	next := workertest.NewRecorder()
	o.Attach(next)
	o.Detach()
	if got := sink.Text(sessions.Stdout) + next.Text(sessions.Stderr); got != "during" {
		t.Errorf("executions had %q", got)
	}
}
