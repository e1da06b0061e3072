package worker

import (
	"sync"
	"time"

	"understudy/sessions"
)

// interrupter aims interrupts at the execution that is under way. A signal
// names no execution: sent to an idle worker, or too early or too late, it would
// be lost or meet the next one.
type interrupter struct {
	signal func() error
	nudge  func()

	mu     sync.Mutex
	phase  phase
	round  int  // which execution it is
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

// interrupt signals the execution under way; the error is sessions.ErrNothingRuns if
// there is none.
func (i *interrupter) interrupt() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch i.phase {
	case running:
		return i.send()
	case sending:
		i.wanted = true
		return nil
	default:
		return sessions.ErrNothingRuns
	}
}

// busy reports whether an execution is under way.
func (i *interrupter) busy() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.phase != idle
}

// begin opens an execution: its request is about to be sent.
func (i *interrupter) begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase, i.wanted, i.sent = sending, false, false
	i.round++
}

// started says that the request was sent.
func (i *interrupter) started() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.phase = running
	if i.wanted {
		_ = i.send() // a dead worker is noticed otherwise
	}
}

// firstNudge is how long code has to notice an interrupt before it is nudged.
const firstNudge = 50 * time.Millisecond

// send is for a caller that holds mu.
func (i *interrupter) send() error {
	i.sent = true
	i.nudgeAfter(firstNudge, i.round)
	return i.signal()
}

// nudgeAfter nudges the code after the pause, and then after twice that and so on,
// until its execution has ended. Python notes a signal and acts on it at its next
// instruction: one that comes in between the last instruction and a system call
// that waits, as in time.sleep, is noticed when that returns. A nudge has it return.
func (i *interrupter) nudgeAfter(pause time.Duration, round int) {
	time.AfterFunc(pause, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.phase == running && i.round == round {
			i.nudge()
			i.nudgeAfter(2*pause, round)
		}
	})
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
