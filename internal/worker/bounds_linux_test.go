package worker

import (
	"sync/atomic"
	"testing"

	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// killedOnce is a group in which the kernel has killed a process that nobody asked for.
type killedOnce struct{ untold atomic.Bool }

func (g *killedOnce) KilledForMemory() bool { return g.untold.Swap(false) }
func (g *killedOnce) Remove()               {}

// A child that the kernel killed in an earlier run doesn't explain how a later one ends.
func TestAnOldKillIsNotBlamed(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 4 << 30}))
	group := &killedOnce{}
	b := &bounds{limits: sandbox.Limits{Memory: 4 << 30}, group: group}
	w.line.bounds = b
	w.process.mu.Lock()
	w.process.bounds = b
	w.process.mu.Unlock()

	group.untold.Store(true)
	workertest.Run(t, w, "x = 1")
	if got := b.verdict(); got != "" {
		t.Errorf("an old kill: %q", got)
	}
	group.untold.Store(true)
	if got := b.verdict(); got != "memory limit of 4.0 GiB reached" {
		t.Errorf("a new one: %q", got)
	}
	_, err := w.Run(t.Context(), sessions.Request{Execution: 2, Code: "import os; os.kill(os.getpid(), 9)"}, workertest.NewRecorder())
	if err == nil || err.Error() == "memory limit of 4.0 GiB reached" {
		t.Error(err)
	}
}
