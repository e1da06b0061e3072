package worker

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"understudy/internal/sandbox"
	"understudy/internal/worker/proc"
	"understudy/internal/worker/workertest"
)

const hold = `
import os, time
def hold(megabytes):
    fd = os.memfd_create("held")
    for _ in range(megabytes): os.write(fd, bytes(1 << 20))
    return fd
`

// Memory in a file that nobody maps is its holder's: the limit holds for it.
func TestMemoryLimitOfFilesInMemory(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Memory: 100 << 20}))
	workertest.Run(t, w, hold+`
import mmap
fds = [hold(80)]
shared = mmap.mmap(fds[0], 0)
sum(shared[::4096])
for _ in range(10): time.sleep(0.1)`) // mapped it counts once
	if reason := breaks(t, w, "for _ in range(4): fds.append(hold(80))\ntime.sleep(1000)"); !strings.HasPrefix(reason, "memory limit of 100 MiB reached") {
		t.Error(reason)
	}
}

// When the machine's memory is short, whoever has it in such files goes before those
// who have less.
func TestGuardSeesFilesInMemory(t *testing.T) {
	s := limited(t, sandbox.Limits{Memory: 4 << 30})
	var holder atomic.Pointer[worker] // memory is short as long as it lives
	s.limiter.Available = func() (left, all uint64) {
		if w := holder.Load(); w != nil && !w.process.hasExited() {
			return 1 << 20, 8 << 30
		}
		return 4 << 30, 8 << 30
	}
	w, other := start(t, s), start(t, s)
	workertest.Run(t, other, grab+"grab(70)")
	workertest.Run(t, w, hold+"fd = hold(150)")
	var rest sync.WaitGroup
	rest.Go(func() {
		if outcome, _ := workertest.Run(t, other, "import time; time.sleep(2)"); !outcome.OK {
			t.Errorf("the other one: %+v", outcome)
		}
	})
	eventually(t, "the other one runs", other.Busy)
	rest.Go(func() {
		for !w.Busy() {
			time.Sleep(time.Millisecond)
		}
		holder.Store(w)
	})
	if reason := breaks(t, w, "time.sleep(1000)"); !strings.HasPrefix(reason, "the machine's memory is nearly used up") {
		t.Error(reason)
	}
	rest.Wait()
}

// However many descriptors code has, all others don't wait until the last is looked at.
func TestDescriptorsWithoutEnd(t *testing.T) {
	s := limited(t, sandbox.Limits{Memory: 4 << 30, OpenFiles: 1000})
	w := start(t, s)
	workertest.Run(t, w, hold+`
ready, done = os.pipe()
for n in range(20):
    if not os.fork():
        last = n == 19 and hold(80)
        try:
            while True: os.dup(0)
        except OSError: os.close(done)
        while True: time.sleep(1000)
os.close(done); os.read(ready, 1)`)
	c := proc.NewCount(s.registry)
	c.Add(w.process.pid)
	f := c.Footprint
	if seen := f.Unmapped(); len(f.PIDs) != 21 || seen >= 80<<20 {
		t.Errorf("%d processes, and the last one's %d bytes are seen", len(f.PIDs), seen)
	}
	f.PIDs = f.PIDs[20:]
	if seen := f.Unmapped(); seen < 80<<20 {
		t.Errorf("%d bytes are seen", seen)
	}
}
