package worker

import (
	"context"
	"os"
	"sync"
	"time"
)

// A line is a worker and its copies that stand by for it: one after the other
// leads. They share their output, their fault pipe and their kin's mark, which
// are let go with the last of them.
type line struct {
	output *outputs
	fault  *os.File // reading end; nil where faults go to stderr
	kin    *kin
	bounds *bounds // nil without limits

	mu      sync.Mutex
	holders int
	leaving map[*process]bool // copies that were dismissed and have yet to end
}

// newLine returns a line with one holder.
func newLine(output *outputs, fault *os.File, kin *kin) *line {
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
	l.kin.close()
	l.bounds.release()
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
