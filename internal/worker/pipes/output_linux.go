package pipes

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"understudy/sessions"
)

// outputPipes are the reading ends of a worker's output pipes behind one epoll
// descriptor: it names them in the order in which they became readable, which
// two sleeping readers would not keep.
type outputPipes struct {
	files    [2]*os.File // by stream
	capacity [2]int      // bytes that each can hold
	open     int         // pipes that have writers
	epoll    *os.File
	raw      syscall.RawConn
}

func newOutputPipes(files [2]*os.File) (*outputPipes, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// A non-blocking file sleeps in Go's own poller.
	_ = unix.SetNonblock(fd, true)
	p := &outputPipes{files: files, open: len(files), epoll: os.NewFile(uintptr(fd), "output")}
	if p.raw, err = p.epoll.SyscallConn(); err != nil {
		return nil, err
	}
	for name, file := range files {
		p.capacity[name] = pipeCapacity(file)
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(name)}
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, int(file.Fd()), &event); err != nil {
			_ = p.epoll.Close()
			return nil, os.NewSyscallError("epoll_ctl", err)
		}
	}
	return p, nil
}

// startPumps delivers what arrives until no pipe has writers left, or close.
func (o *Outputs) startPumps() { o.pumps.Go(o.pump) }

func (o *Outputs) pump() {
	ended := false
	// Made once: a program that prints a line at a time calls it for each.
	read := func(fd uintptr) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		progress := o.pipes.readReady(int(fd), o.buffer, noLimit, o.deliver)
		ended = o.pipes.open == 0
		return progress || ended
	}
	for !ended {
		if o.pipes.raw.Read(read) != nil {
			return // closed
		}
	}
}

// readNow reads once from each pipe that holds something, in the order in which
// they became readable, and takes what it has read from left. It reports
// whether there was anything.
func (p *outputPipes) readNow(buffer []byte, left *[2]int, deliver deliverFunc) (progress bool) {
	// Control, other than Read, does not wait for the pump to leave its Read.
	_ = p.raw.Control(func(fd uintptr) {
		progress = p.readReady(int(fd), buffer, left, deliver)
	})
	return progress
}

// readReady reads once from each pipe that is ready.
func (p *outputPipes) readReady(epoll int, buffer []byte, left *[2]int, deliver deliverFunc) (progress bool) {
	var events [2]unix.EpollEvent
	n, _ := unix.EpollWait(epoll, events[:], 0) // an interrupted one is tried again later
	for _, event := range events[:max(n, 0)] {
		progress = p.readPipe(epoll, sessions.Stream(event.Fd), buffer, left, deliver) || progress
	}
	return progress
}

func (p *outputPipes) readPipe(epoll int, stream sessions.Stream, buffer []byte, left *[2]int, deliver deliverFunc) bool {
	limit := len(buffer)
	if left != noLimit {
		limit = min(limit, left[stream])
	}
	if limit == 0 {
		return false
	}
	size, err := readDescriptor(p.files[stream].Fd(), buffer[:limit])
	switch {
	case size > 0:
		deliver(stream, buffer[:size])
		if left != noLimit {
			left[stream] -= size
		}
	case !errors.Is(err, syscall.EAGAIN):
		p.open--
		_ = unix.EpollCtl(epoll, unix.EPOLL_CTL_DEL, int(p.files[stream].Fd()), nil)
	}
	return size > 0
}

// wake ends the pump's sleep for ever.
func (p *outputPipes) wake() { _ = p.epoll.Close() }

func (p *outputPipes) close() { CloseFiles(p.files[:]) }
