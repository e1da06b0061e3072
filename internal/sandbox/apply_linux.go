package sandbox

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
)

// Apply puts those limits on a process of ours that one process can put on another,
// before code runs in it: what it starts inherits them. Limits of a user's processes
// are not among them, nor are those that somebody has to watch. CPUs are kept by
// leaving the process so many processors, unless a cgroup counts its time.
func (l Limits) Apply(pid int, grouped bool) error {
	var failure error
	for _, limit := range rlimitsFor(l, false) {
		wanted := unix.Rlimit{Cur: limit[1], Max: limit[2]}
		var now unix.Rlimit
		if unix.Prlimit(pid, int(limit[0]), nil, &now) == nil && now.Max <= wanted.Max {
			continue // put on by its wall, or inherited
		}
		// Root without CAP_SYS_RESOURCE may neither set nor ask those of another user. A
		// worker that has become one has put them on itself before, a branch has inherited them.
		if err := unix.Prlimit(pid, int(limit[0]), &wanted, nil); err != nil && isLooser(pid, int(limit[0]), wanted.Max) {
			failure = errors.Join(failure, fmt.Errorf("resource %d: %w", limit[0], err))
		}
	}
	if l.CPUs > 0 && !grouped {
		failure = errors.Join(failure, leaveProcessors(pid, int(math.Ceil(l.CPUs))))
	}
	return failure
}

// isLooser reports whether the hard limit of any process is higher, or can't be told.
func isLooser(pid, resource int, than uint64) bool {
	_, hard, found := proc.LimitOf(pid, limitNames[resource])
	return !found || hard > than
}

// limitNames are the lines of /proc/PID/limits.
var limitNames = map[int]string{
	unix.RLIMIT_DATA: "Max data size", unix.RLIMIT_NPROC: "Max processes",
	unix.RLIMIT_NOFILE: "Max open files", unix.RLIMIT_FSIZE: "Max file size",
}

// turn counts those that were given processors, so that each begins at the next one.
var turn atomic.Int64

// leaveProcessors lets a process run on so many of our processors only.
func leaveProcessors(pid, count int) error {
	var ours, left unix.CPUSet
	if err := unix.SchedGetaffinity(0, &ours); err != nil {
		return fmt.Errorf("processors: %w", err)
	}
	var all []int
	for cpu := range len(ours) * 64 {
		if ours.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	var now unix.CPUSet
	if count >= len(all) || unix.SchedGetaffinity(pid, &now) == nil && now.Count() <= count {
		return nil // a branch has inherited them, and may be another user's
	}
	first := int(turn.Add(int64(count))) - count
	for i := range count {
		left.Set(all[(first+i)%len(all)])
	}
	if err := unix.SchedSetaffinity(pid, &left); err != nil {
		return fmt.Errorf("processors: %w", err)
	}
	return nil
}
