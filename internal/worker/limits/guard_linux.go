package limits

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/phrase"
	"understudy/internal/proc"
)

// worthwhile is how many bytes the end of a worker must free at least: where others
// have used the memory up, to end all sessions would not help.
const worthwhile = 64 << 20

// reserve is how much of the machine's memory has to stay free, in bytes: the server,
// and the kernel itself, need some to go on.
func reserve(all uint64) uint64 { return min(max(256<<20, all/25), all/8) }

// protect ends a worker if the machine's memory is nearly used up, the largest that runs
// something, as the others don't ask for more. The next one goes when that has ended and
// memory is still short. It reports whether there is so little left that it should look
// again soon.
func (l *Limiter) protect(workers []Worker, now time.Time) (scarce bool) {
	// Before the look at what is left: whoever ends in between has freed it.
	dying := l.victim != nil && l.victim.Ended() == nil && now.Sub(l.since) < l.Patience
	left, all := l.Available()
	least := reserve(all)
	if left >= least {
		return left < 4*least
	}
	if dying {
		return true
	}
	for _, busy := range []bool{true, false} {
		for _, c := range l.largest(workers, busy) {
			if c.Private()+c.unmapped >= worthwhile {
				l.killForMemory(c, now)
				return true
			}
		}
	}
	return true
}

// killForMemory ends a worker for the sake of all others.
func (l *Limiter) killForMemory(c candidate, now time.Time) {
	l.victim, l.since = c.Worker, now
	l.end(c.Worker, fmt.Sprintf("the machine's memory is nearly used up, and of all that run this interpreter used the most (%s)", phrase.Size(int64(c.Memory))))
	l.running.Go(func() { c.WithPID(hasten) })
}

// candidate is a worker that might be ended.
type candidate struct {
	Worker
	proc.Footprint
	unmapped uint64 // bytes of files in memory, beside what the footprint has
}

// largest returns those that run something, or those that don't, as far as they may be
// worthwhile, the largest first.
func (l *Limiter) largest(workers []Worker, busy bool) (all []candidate) {
	for _, w := range workers {
		if l.records[w].ending || w.Busy() != busy {
			continue
		}
		f := l.footprint(w)
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
func hasten(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return
	}
	// From Linux 5.15; a process that is quicker than this has nothing left.
	_, _, _ = unix.Syscall(unix.SYS_PROCESS_MRELEASE, uintptr(fd), 0, 0)
}
