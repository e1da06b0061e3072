package worker

import (
	"understudy/internal/proc"
	"understudy/internal/worker/limits"
	"understudy/sessions"
)

// What the limiter knows of a worker; see limits.Worker.
var _ limits.Worker = (*worker)(nil)

// WithPID calls act while the process id is sure to be the worker's own.
func (w *worker) WithPID(act func(pid int)) { w.process.withPID(func() { act(w.process.pid) }) }

// Busy reports whether an execution is under way.
func (w *worker) Busy() bool { return w.interrupts.busy() }

// Spec is that of the session; nil until that has begun.
func (w *worker) Spec() *sessions.Spec { return w.spec.Load() }

// Kin are all processes of its line.
func (w *worker) Kin() *proc.Kin { return w.line.kin }

// End ends the worker for that cause.
func (w *worker) End(cause string) {
	w.process.blame(cause) // before all that could end it sooner
	w.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
	w.process.kill(cause)
}

// Living returns the living kin, the worker itself included; not known while they are
// being ended, or have been. It waits for nobody.
func (w *worker) Living() (all []proc.ID, known bool) {
	p := w.process
	if !p.alive.TryRLock() {
		return nil, false
	}
	defer p.alive.RUnlock()
	if p.reaped {
		return nil, false
	}
	return w.line.kin.Living()
}
