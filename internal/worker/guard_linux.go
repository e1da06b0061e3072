package worker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/phrase"
	"understudy/internal/worker/proc"
)

const (
	// worthwhile is how many bytes the end of a worker must free at least: where others
	// have used the memory up, to end all sessions would not help.
	worthwhile = 64 << 20
	// dyingTime is how long a worker that was killed may take to free its memory before
	// another one has to go in its place.
	dyingTime = time.Second
)

// guard is what the limiter remembers of the machine's memory.
type guard struct {
	looked time.Time
}

// reserve is how much of the machine's memory has to stay free, in bytes: the server,
// and the kernel itself, need some to go on.
func reserve(all uint64) uint64 { return min(max(256<<20, all/25), all/8) }

// protect ends workers if the machine's memory is nearly used up, the largest first,
// until what they are going to free is enough: those that run something, as the others
// don't ask for more. It reports whether there is so little left that it should look
// again soon.
func (d *limiter) protect(workers map[*worker]bool, now time.Time) (scarce bool) {
	d.guard.looked = now
	dying := d.dying(now) // before the look at what is left: whoever ends in between has freed it
	left, all := d.available()
	least := reserve(all)
	if left >= least {
		return left < 4*least
	}
	d.makeRoom(left+dying, least, d.largest(workers, true), now)
	if dying == 0 && d.dying(now) == 0 { // nothing that runs is worthwhile
		d.makeRoom(left, least, d.largest(workers, false), now)
	}
	return true
}

// makeRoom ends candidates until there is room, and somewhat more.
func (d *limiter) makeRoom(left, least uint64, candidates []candidate, now time.Time) {
	if left >= least {
		return
	}
	for _, c := range candidates {
		if left >= least+least/2 {
			return
		}
		if frees := c.Private() + c.unmapped; frees >= worthwhile {
			left += frees
			d.killForMemory(c, frees, now)
		}
	}
}

// dying is what workers that were ended are about to free, in bytes.
func (d *limiter) dying(now time.Time) (frees uint64) {
	for w, c := range d.records {
		if c.frees > 0 && now.Sub(c.since) < d.toDie && !w.process.hasExited() {
			frees += c.frees
		}
	}
	return frees
}

// killForMemory ends a worker for the sake of all others.
func (d *limiter) killForMemory(c candidate, frees uint64, now time.Time) {
	d.records[c.worker].frees, d.records[c.worker].since = frees, now
	d.end(c.worker, fmt.Sprintf("the machine's memory is nearly used up, and of all that run this interpreter used the most (%s)", phrase.Size(int64(c.Memory))))
	d.running.Go(c.process.hasten)
}

// candidate is a worker that might be ended.
type candidate struct {
	*worker
	proc.Footprint
	unmapped uint64 // bytes of files in memory, beside what the footprint has
}

// largest returns those that run something, or those that don't, as far as they may be
// worthwhile, the largest first.
func (d *limiter) largest(workers map[*worker]bool, busy bool) (all []candidate) {
	for w := range workers {
		if d.records[w].ending || w.interrupts.busy() != busy {
			continue
		}
		f := d.footprint(w)
		unmapped := f.Unmapped()
		f.Memory += unmapped
		if f.Memory >= worthwhile {
			all = append(all, candidate{w, f, unmapped})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.Memory, a.Memory) })
	return all
}

// hasten has the memory of a process that is being killed freed at once: when all
// processors are busy a dying process has to wait for its turn like any other.
func (p *process) hasten() {
	p.withPID(func() {
		fd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
			return
		}
		// From Linux 5.15; a process that is quicker than this has nothing left.
		_, _, _ = unix.Syscall(unix.SYS_PROCESS_MRELEASE, uintptr(fd), 0, 0)
	})
}
