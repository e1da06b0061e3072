package worker

import (
	"fmt"

	"understudy/internal/phrase"
	"understudy/internal/sandbox"
)

// bounds are what holds the processes of a line to its limits without anybody who
// looks: the limits that each process inherits, and a cgroup where there are some.
type bounds struct {
	limits sandbox.Limits
	group  kernelGroup // nil without cgroups
}

// kernelGroup is what a cgroup does for a line once its first process is in it.
type kernelGroup interface {
	KilledForMemory() bool
	Remove()
}

// bind puts a new worker's process within the bounds of its line, before code runs
// in it. A copy that takes its original's place is within them from its birth.
func (s *Spawner) bind(w *worker) {
	limits := s.options.Limits
	if limits == (sandbox.Limits{}) {
		return
	}
	pid := w.process.pid
	if w.line.bounds == nil {
		w.line.bounds = s.newBounds(pid)
		if err := limits.Apply(pid, w.line.bounds.group != nil); err != nil {
			s.log.Warn("an interpreter's limits are not those that were asked for", "pid", pid, "error", err)
		}
	}
	w.process.mu.Lock()
	defer w.process.mu.Unlock()
	w.process.bounds = w.line.bounds
}

func (s *Spawner) newBounds(pid int) *bounds {
	b := &bounds{limits: s.options.Limits}
	groups := s.limiter.groups()
	if groups == nil {
		return b
	}
	group, err := groups.Add(s.options.Limits)
	if err == nil {
		err = group.Enter(pid)
	}
	if err != nil {
		s.log.Warn("an interpreter has no cgroup of its own: the server watches it", "pid", pid, "error", err)
		group.Remove()
		return b
	}
	b.group = group
	return b
}

// verdict says which limit the kernel has killed a process of the line for, "" if none.
func (b *bounds) verdict() string {
	if b == nil || b.group == nil || !b.group.KilledForMemory() {
		return ""
	}
	return memoryCause(b.limits.Memory, 0)
}

// forget is told that the line is about to run something: what the kernel has killed
// before, such as a child of an earlier run, is not what ends this one.
func (b *bounds) forget() {
	if b != nil && b.group != nil {
		b.group.KilledForMemory()
	}
}

func memoryCause(limit int64, used uint64) string {
	cause := fmt.Sprintf("memory limit of %s reached", phrase.Size(limit))
	if used > 0 {
		cause += fmt.Sprintf(" (%s used)", phrase.Size(int64(used)))
	}
	return cause
}

// release is called when no process of the line is left.
func (b *bounds) release() {
	if b != nil && b.group != nil {
		b.group.Remove()
	}
}
