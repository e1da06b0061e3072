//go:build unix && !linux

package pipes

import (
	"errors"
	"os"
	"syscall"

	"understudy/sessions"
)

// outputPipes are the reading ends of a worker's output pipes.
type outputPipes struct {
	files    [2]*os.File // by stream
	raw      [2]syscall.RawConn
	capacity [2]int // bytes that each can hold
}

func newOutputPipes(files [2]*os.File) (p *outputPipes, err error) {
	p = &outputPipes{files: files}
	for stream, file := range files {
		p.capacity[stream] = pipeCapacity(file)
		if p.raw[stream], err = file.SyscallConn(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// startPumps delivers what arrives until no pipe has writers left, or close.
func (o *Outputs) startPumps() {
	for stream, raw := range o.pipes.raw {
		o.pumps.Go(func() { o.pump(sessions.Stream(stream), raw) })
	}
}

func (o *Outputs) pump(stream sessions.Stream, raw syscall.RawConn) {
	ended := false
	// Made once: a program that prints a line at a time calls it for each.
	read := func(fd uintptr) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		n, err := readDescriptor(fd, o.buffer)
		if n > 0 {
			o.deliver(stream, o.buffer[:n])
			return true
		}
		ended = !errors.Is(err, syscall.EAGAIN)
		return ended
	}
	for !ended {
		if raw.Read(read) != nil {
			return // closed
		}
	}
}

// readNow reads once from each pipe that holds something and takes what it has
// read from left. It reports whether there was anything.
func (p *outputPipes) readNow(buffer []byte, left *[2]int, deliver deliverFunc) (progress bool) {
	for stream, raw := range p.raw {
		n := 0
		// Control, other than Read, does not wait for the pump to leave its Read.
		_ = raw.Control(func(fd uintptr) { n, _ = readDescriptor(fd, buffer[:min(len(buffer), left[stream])]) })
		if n > 0 {
			progress = true
			deliver(sessions.Stream(stream), buffer[:n])
			left[stream] -= n
		}
	}
	return progress
}

// wake ends the pumps' sleep for ever.
func (p *outputPipes) wake() { CloseFiles(p.files[:]) }

func (p *outputPipes) close() {}
