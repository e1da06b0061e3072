package limits

import (
	"fmt"
	"sync"

	"understudy/internal/phrase"
	"understudy/internal/sandbox"
)

// Bounds are what holds the processes of a line to its limits without anybody who looks:
// the limits that each process inherits, and a cgroup where there are some. Nil has none.
type Bounds struct {
	memory int64
	group  kernelGroup // nil without cgroups
	// written is what the line's worker had written to disks when that was last looked at,
	// and writer the process that was.
	written uint64
	writer  int
}

// kernelGroup is what a cgroup does for a line once its first process is in it.
type kernelGroup interface {
	KilledForMemory() bool
	Remove()
}

// openCgroups opens those of this process once, for the limiters of all its Pythons: it
// removes groups that nobody is in, as one is that another limiter has just made.
var openCgroups = sync.OnceValues(sandbox.OpenCgroups)

// Bind puts a new line's process within its bounds, before code runs in it. A copy that
// takes its original's place is within them from its birth.
func (l *Limiter) Bind(pid int) *Bounds {
	if l == nil || !l.bounded {
		return nil
	}
	b := &Bounds{memory: l.limits.Memory, group: l.enterGroup(pid)}
	if err := l.limits.Apply(pid, b.group != nil); err != nil {
		l.log.Warn("an interpreter's limits are not those that were asked for", "pid", pid, "error", err)
	}
	return b
}

// enterGroup puts a process into a cgroup of its own, nil where there are none.
func (l *Limiter) enterGroup(pid int) kernelGroup {
	groups, err := openCgroups()
	if err != nil {
		l.log.Debug("no cgroups: the server watches interpreters itself", "reason", err)
		return nil
	}
	group, err := groups.Add(l.limits)
	if err == nil {
		err = group.Enter(pid)
	}
	if err != nil {
		l.log.Warn("an interpreter has no cgroup of its own: the server watches it", "pid", pid, "error", err)
		group.Remove()
		return nil
	}
	return group
}

// Verdict says which limit the kernel has killed a process of the line for, "" if none.
func (b *Bounds) Verdict() string {
	if b == nil || b.group == nil || !b.group.KilledForMemory() {
		return ""
	}
	return memoryCause(b.memory, 0)
}

// forget is told that the line is about to run something: what the kernel has killed
// before, such as a child of an earlier run, is not what ends this one.
func (b *Bounds) forget() {
	if b != nil && b.group != nil {
		b.group.KilledForMemory()
	}
}

// Release is called when no process of the line is left.
func (b *Bounds) Release() {
	if b != nil && b.group != nil {
		b.group.Remove()
	}
}

func memoryCause(limit int64, used uint64) string {
	cause := fmt.Sprintf("memory limit of %s reached", phrase.Size(limit))
	if used > 0 {
		cause += fmt.Sprintf(" (%s used)", phrase.Size(int64(used)))
	}
	return cause
}
