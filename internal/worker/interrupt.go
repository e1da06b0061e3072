package worker

import "sync"

// interrupter aims interrupts at the execution that is under way. A signal
// names no execution: sent to an idle worker, or too early or too late, it would
// be lost or meet the next one.
type interrupter struct {
	signal func() error

	mu     sync.Mutex
	phase  phase
	wanted bool // asked for while the request was being sent
	sent   bool // a signal went out during this execution
	// unsettled says that a signal went out: it may have crossed with the
	// answer, and the worker may have yet to take note of it.
	unsettled bool
}

type phase int

const (
	idle    phase = iota
	sending       // the request is on its way
	running       // the worker has the request, or will read it before any signal
)

// interrupt signals the execution under way, if any.
func (i *interrupter) interrupt() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.phase {
	case running:
		i.sent = true
		return i.signal()
	case sending:
		i.wanted = true
	}
	return nil
}

// begin opens an execution: its request is about to be sent.
func (i *interrupter) begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase, i.wanted, i.sent = sending, false, false
}

// started says that the request was sent.
func (i *interrupter) started() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase = running
	if i.wanted {
		i.sent = true
		_ = i.signal() // a dead worker is noticed otherwise
	}
}

// end closes an execution.
func (i *interrupter) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase = idle
	i.unsettled = i.unsettled || i.sent
}

// takeUnsettled reports whether a signal may be under way, once.
func (i *interrupter) takeUnsettled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	unsettled := i.unsettled
	i.unsettled = false
	return unsettled
}
