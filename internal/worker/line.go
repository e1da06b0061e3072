package worker

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"understudy/internal/proc"
	"understudy/internal/worker/limits"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/wire"
)

// A line is a worker and its copies that stand by for it: one after the other
// leads. They share their output, their fault pipe and their kin's mark, which
// are let go with the last of them.
type line struct {
	shared
	output *pipes.Outputs
	fault  *os.File // reading end; nil where faults go to stderr
	kin    *proc.Kin
	bounds *limits.Bounds // nil without limits
	// network is that of one session and of the branches made from it: they are forks. Its
	// listener, on which they find the server's proxy, goes with the last of their lines.
	network *shared

	mu      sync.Mutex
	leaving map[*process]bool // copies that were dismissed and have yet to end
}

// newLine returns a line with one holder.
func newLine(output *pipes.Outputs, fault *os.File, kin *proc.Kin) *line {
	l := &line{output: output, fault: fault, kin: kin, leaving: map[*process]bool{}}
	l.shared = shared{holders: 1, close: func() {
		output.Close()
		if fault != nil {
			_ = fault.Close()
		}
		kin.Close()
		l.bounds.Release()
		l.network.release()
	}}
	return l
}

// shared is what is closed when the last who holds it has released it. Nil is nothing.
type shared struct {
	count   sync.Mutex
	holders int
	close   func()
}

// hold returns it with one more holder.
func (s *shared) hold() *shared {
	if s != nil {
		s.count.Lock()
		defer s.count.Unlock()
		s.holders++
	}
	return s
}

func (s *shared) release() {
	if s == nil {
		return
	}
	s.count.Lock()
	s.holders--
	last := s.holders == 0
	s.count.Unlock()
	if last {
		s.close()
	}
}

// dismiss notes that a copy, which has been told, is to end.
func (l *line) dismiss(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.leaving {
		if other.hasExited() {
			delete(l.leaving, other)
		}
	}
	l.leaving[p] = true
}

// awaitDismissed returns when the dismissed copies have ended. They only have
// to notice; one that has been stopped is killed.
func (l *line) awaitDismissed(ctx context.Context) {
	l.mu.Lock()
	leaving := l.leaving
	l.leaving = map[*process]bool{}
	l.mu.Unlock()
	deadline := time.Now().Add(stopGrace)
	for p := range leaving {
		if !p.wait(ctx, time.Until(deadline)) {
			p.kill("ended by the server")
		}
	}
}

// takeListener takes the socket on which the session finds our proxy: it belongs to the
// session's own network, into which we could not open one. It comes as soon as the wall
// stands, so that the operator's initial code has the network too; nothing of the user's
// has run in the worker yet. It needs no right to look into a process of another user.
func (w *worker) takeListener(family string) error {
	f, files, err := w.conn.ReceiveFirst()
	defer pipes.CloseFiles(files)
	if err != nil {
		return err
	}
	if f.Kind != wire.TypeListener {
		return wire.Errorf("turn", "it sent %s before its listener", f.Kind)
	}
	var message wire.Listener
	if err := f.Decode(&message); err != nil {
		return err
	}
	if message.Descriptors != 1 || len(files) != 1 {
		return wire.Errorf("descriptors", "its listener came with %d descriptors in place of one", len(files))
	}
	listener, err := net.FileListener(files[0]) // a copy
	if err != nil {
		return wire.Errorf("descriptors", "its listener is none: %v", err)
	}
	w.line.network = &shared{holders: 1, close: func() { _ = listener.Close() }} // whoever serves it may have closed it
	if serve := w.spawner.options.Serve; serve != nil {
		serve(family, listener)
	}
	return nil
}
