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
	if before < 1<<20 {
		t.Errorf("%d bytes", before)
	}
	const size = 64 << 20
	workertest.Run(t, w, fmt.Sprintf("x = b'x' * %d", size))
	if grown := w.Resident() - before; grown < size || grown > 2*size {
		t.Errorf("it grew by %d bytes", grown)
	}
	if usage, err := w.Usage(); err != nil || usage.Memory < size || usage.Private < size {
		t.Errorf("%+v, %v", usage, err)
	}
	workertest.RunToDeath(t, w, "import os; os._exit(9)")
	if _, err := w.Usage(); err == nil {
		t.Error("a dead worker uses something")
	}
	if after := w.Resident(); after != 0 {
		t.Errorf("%d bytes of a process that has ended", after)
	}
}
