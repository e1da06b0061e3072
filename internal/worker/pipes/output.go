package pipes

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"understudy/sessions"
)

const (
	// outputBuffer is the size in bytes of the buffer that both pipes of a
	// worker are read with.
	outputBuffer = 256 << 10
	// heldLimit is how many bytes of output are held between two executions.
	heldLimit = 1 << 20
)

// Outputs reads a worker's stdout and stderr all the time, so that nothing the
// worker or a child of it prints ever blocks them.
//
// A read and the delivery of what was read happen under one lock. So detach,
// when it has the lock, knows that all that is not in the sink yet is in the
// pipes, and reads it there itself: no goroutine has to be woken.
//
// Each stream is delivered in order. Between the two streams the order, on
// Linux, is that in which the pipes became readable since they were last read,
// some tens of microseconds ago: "a" to stdout and then "b" to stderr come in
// that order, but a "c" to stdout straight after them may come with "a". The
// worker's Python therefore waits until a pipe is empty before it turns to the
// other one; children and C code don't.
type Outputs struct {
	pumps sync.WaitGroup

	mu     sync.Mutex
	pipes  *outputPipes
	closed bool
	sink   sessions.Sink // nil between executions
	held   held
	buffer []byte
}

// deliverFunc takes bytes of a stream, which are valid until it returns.
type deliverFunc func(stream sessions.Stream, text []byte)

// noLimit stands for what may be read of each stream when all may.
var noLimit *[2]int

// Open makes all that joins a new worker to the server, and reads what it prints.
func Open() (*Ends, *Outputs, error) { return read(openEnds()) }

func read(e *Ends, err error) (*Ends, *Outputs, error) {
	if err != nil {
		return nil, nil, err
	}
	o, err := newOutputs(e.Stdout, e.Stderr)
	if err != nil {
		e.Close()
		return nil, nil, err
	}
	return e, o, nil
}

// newOutputs takes over the reading ends of both pipes.
func newOutputs(stdout, stderr *os.File) (*Outputs, error) {
	pipes, err := newOutputPipes([2]*os.File{stdout, stderr})
	if err != nil {
		return nil, err
	}
	o := &Outputs{pipes: pipes, buffer: make([]byte, outputBuffer)}
	o.startPumps()
	return o, nil
}

// Attach gives the sink what is held, and from then on what arrives. The sink
// must not keep the bytes it is given, nor call the worker.
func (o *Outputs) Attach(sink sessions.Sink) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held.flush(sink)
	o.sink = sink
}

// Detach gives the sink what the pipes hold at this moment and lets it go. It
// does not wait for the pipes' ends, and reads no more than a pipe can hold: a
// child process may have them open and go on printing.
func (o *Outputs) Detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.readAll()
	o.sink = nil
}

// Drain gives the sink what the pipes hold at this moment.
func (o *Outputs) Drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.readAll()
}

// readAll delivers what the pipes hold. The caller holds mu.
func (o *Outputs) readAll() {
	for left := o.pipes.capacity; o.pipes.readNow(o.buffer, &left, o.deliver); {
	}
}

// deliver is called with the lock held.
func (o *Outputs) deliver(stream sessions.Stream, text []byte) {
	if o.sink != nil {
		o.sink.Output(stream, text)
		return
	}
	o.held.add(stream, text)
}

// Take returns what came since the last execution, and no more.
func (o *Outputs) Take() []sessions.Piece {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sink != nil || o.closed {
		return nil // an execution runs, and has it, or there will be none
	}
	o.readAll()
	var pieces collector
	o.held.flush(&pieces)
	return pieces
}

// Size returns how many bytes take would.
func (o *Outputs) Size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	total := 0
	for _, piece := range o.held.pieces {
		total += len(piece.text)
	}
	return total
}

// collector is where pieces go that no execution has.
type collector []sessions.Piece

func (c *collector) Output(stream sessions.Stream, text []byte) {
	*c = append(*c, sessions.Piece{Stream: stream, Text: text})
}

// Tail returns the end of what is held of a stream.
func (o *Outputs) Tail(stream sessions.Stream, size int) string {
	o.Detach()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held.tail(stream, size)
}

// Close ends the pumps and closes the pipes.
func (o *Outputs) Close() {
	o.pipes.wake()
	o.pumps.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pipes.close()
	o.closed = true
}

// held keeps the newest output of the time between two executions.
type held struct {
	pieces  []heldPiece
	size    int   // bytes of memory
	dropped int64 // bytes of text
}

type heldPiece struct {
	stream sessions.Stream
	text   []byte
}

const (
	// heldPieceSize is where a piece is full, unless it is what was read at once,
	// which is outputBuffer at most: dropping the oldest piece then
	// costs little of the whole.
	heldPieceSize = 64 << 10
	// heldPieceCost is about what a piece costs beside its text, so that many
	// small pieces are bounded too.
	heldPieceCost = 64
)

func (h *held) add(stream sessions.Stream, text []byte) {
	h.size += len(text)
	last := len(h.pieces) - 1
	if last >= 0 && h.pieces[last].stream == stream && len(h.pieces[last].text)+len(text) <= heldPieceSize {
		h.pieces[last].text = append(h.pieces[last].text, text...)
	} else {
		h.size += heldPieceCost
		h.pieces = append(h.pieces, heldPiece{stream, bytes.Clone(text)})
	}
	for h.size > heldLimit {
		oldest := len(h.pieces[0].text)
		h.pieces[0].text = nil
		h.pieces = h.pieces[1:]
		h.size -= oldest + heldPieceCost
		h.dropped += int64(oldest)
	}
}

func (h *held) flush(sink interface {
	Output(stream sessions.Stream, text []byte)
}) {
	if h.dropped > 0 {
		note := fmt.Sprintf("[%d bytes printed between two executions were dropped]\n", h.dropped)
		sink.Output(h.pieces[0].stream, []byte(note))
	}
	for _, piece := range h.pieces {
		sink.Output(piece.stream, piece.text)
	}
	*h = held{}
}

func (h *held) tail(stream sessions.Stream, size int) string {
	var text []byte
	for _, piece := range h.pieces {
		if piece.stream == stream {
			text = append(text, piece.text...)
		}
	}
	return string(text[max(0, len(text)-size):])
}
