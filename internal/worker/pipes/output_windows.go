package pipes

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"understudy/sessions"
)

// outputPipes are the reading ends of a worker's output pipes. Windows can't
// wait for an anonymous pipe without reading it, so the pump looks at them from
// time to time.
type outputPipes struct {
	files    [2]*os.File // by stream
	capacity [2]int      // bytes that are read of each after an execution, at most
	woken    chan struct{}
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// Pauses between two looks: short while something is printed.
const (
	busyPause = time.Millisecond
	idlePause = 20 * time.Millisecond
)

func newOutputPipes(files [2]*os.File) (*outputPipes, error) {
	return &outputPipes{files: files, capacity: [2]int{1 << 20, 1 << 20}, woken: make(chan struct{})}, nil
}

// startPumps delivers what arrives until close.
func (o *Outputs) startPumps() { o.pumps.Go(o.pump) }

func (o *Outputs) pump() {
	for pause := busyPause; ; pause = min(2*pause, idlePause) {
		o.mu.Lock()
		for left := o.pipes.capacity; o.pipes.readNow(o.buffer, &left, o.deliver); {
			pause = busyPause
		}
		o.mu.Unlock()
		select {
		case <-o.pipes.woken:
			return
		case <-time.After(pause):
		}
	}
}

// readNow reads once from each pipe that holds something and takes what it has
// read from left. It reports whether there was anything.
func (p *outputPipes) readNow(buffer []byte, left *[2]int, deliver deliverFunc) (progress bool) {
	for stream, file := range p.files {
		var available uint32
		ok, _, _ := peekNamedPipe.Call(file.Fd(), 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0)
		limit := min(len(buffer), left[stream], int(available))
		if ok == 0 || limit == 0 {
			continue
		}
		if n, _ := file.Read(buffer[:limit]); n > 0 {
			progress = true
			deliver(sessions.Stream(stream), buffer[:n])
			left[stream] -= n
		}
	}
	return progress
}

// wake ends the pump.
func (p *outputPipes) wake() { close(p.woken) }

func (p *outputPipes) close() { CloseFiles(p.files[:]) }

// ReadFault returns nothing: on Windows faults go to stderr.
func ReadFault(*os.File) string { return "" }
