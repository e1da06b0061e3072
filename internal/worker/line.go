package worker

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"understudy/internal/worker/proc"
)

// A line is a worker and its copies that stand by for it: one after the other
// leads. They share their output, their fault pipe and their kin's mark, which
// are let go with the last of them.
type line struct {
	output  *outputs
	fault   *os.File // reading end; nil where faults go to stderr
	kin     *proc.Kin
	bounds  *bounds // nil without limits
	network *network

	mu      sync.Mutex
	holders int
	leaving map[*process]bool // copies that were dismissed and have yet to end
}

// newLine returns a line with one holder.
func newLine(output *outputs, fault *os.File, kin *proc.Kin) *line {
	return &line{output: output, fault: fault, kin: kin, holders: 1, leaving: map[*process]bool{}}
}

func (l *line) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holders++
}

// release closes what the line shares when nobody holds it any more.
func (l *line) release() {
	l.mu.Lock()
	l.holders--
	last := l.holders == 0
	l.mu.Unlock()
	if !last {
		return
	}
	l.output.close()
	if l.fault != nil {
		_ = l.fault.Close()
	}
	l.kin.Close()
	l.bounds.release()
	l.network.release()
}

// A network is that of one session and of the branches made from it: they are forks. Its
// listener, on which they find the server's proxy, goes with the last of their lines.
// One that is nil has no listener.
type network struct {
	listener net.Listener

	mu      sync.Mutex
	holders int
}

// hold returns the network, which then has one more holder.
func (n *network) hold() *network {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.holders++
	}
	return n
}

// release closes the listener when nobody holds the network any more.
func (n *network) release() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.holders--; n.holders == 0 {
		_ = n.listener.Close() // whoever serves it may have closed it
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
