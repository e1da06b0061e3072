package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	holder, other := start(t, s), start(t, s)
	workertest.Run(t, other, grab+"grab(70)")
	ended := make(chan string)
	go func() {
		ended <- breaks(t, holder, hold+"fd = hold(150); open('there', 'w').close(); time.sleep(1000)")
	}()
	eventually(t, "it has its memory", func() bool {
		_, err := os.Stat(filepath.Join(holder.spec.Load().Workdir, "there"))
		return err == nil
	})
	other.interrupts.begin()
	all := s.limiter.largestOf(other, holder)
	other.interrupts.end()
	if len(all) != 2 || all[0].worker != holder || all[0].unmapped < 150<<20 || all[1].unmapped > 1<<20 {
		t.Errorf("%+v", all)
	}
	holder.Kill()
	<-ended
}

// largestOf are the candidates among workers that run, of a limiter that doesn't watch.
func (d *limiter) largestOf(workers ...*worker) []candidate {
	apart := newLimiter(d.spawner)
	present := map[*worker]bool{}
	for _, w := range workers {
		present[w] = true
	}
	apart.forget(present)
	return apart.largest(present, true)
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
	f := s.limiter.footprintOf(w)
	if seen := f.Unmapped(); len(f.PIDs) != 21 || seen >= 80<<20 {
		t.Errorf("%d processes, and the last one's %d bytes are seen", len(f.PIDs), seen)
	}
	f.PIDs = f.PIDs[20:]
	if seen := f.Unmapped(); seen < 80<<20 {
		t.Errorf("%d bytes are seen", seen)
	}
}

// footprintOf is a worker's for a limiter that doesn't watch.
func (d *limiter) footprintOf(w *worker) proc.Footprint {
	apart := newLimiter(d.spawner)
	apart.forget(map[*worker]bool{w: true})
	return apart.footprint(w)
}
