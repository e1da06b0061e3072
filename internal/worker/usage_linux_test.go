package worker

import (
	"fmt"
	"testing"

	"understudy/internal/worker/workertest"
)

// TestUsage: the memory of a process is told while it lives.
func TestUsage(t *testing.T) {
	w := workertest.Start(t, testZygote(t))
	before := w.Resident()
	expect(t, before >= 1<<20, "%d bytes", before)
	const size = 64 << 20
	workertest.Run(t, w, fmt.Sprintf("x = b'x' * %d", size))
	grown := w.Resident() - before
	expect(t, grown >= size && grown <= 2*size, "it grew by %d bytes", grown)
	if usage, err := w.Usage(); err != nil || usage.Memory < size || usage.Private < size {
		t.Errorf("%+v, %v", usage, err)
	}
	workertest.RunToDeath(t, w, "import os; os._exit(9)")
	if _, err := w.Usage(); err == nil {
		t.Error("a dead worker uses something")
	}
	after := w.Resident()
	expect(t, after == 0, "%d bytes of a process that has ended", after)
}
