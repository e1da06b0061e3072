package proc

import "golang.org/x/sys/unix"

// Footprint is what a worker and the processes that its code has started use.
type Footprint struct {
	// Memory is what they have for themselves, in bytes: an estimate that is cheap to
	// get, and too high where one is a fork of another and shares memory with it.
	Memory uint64
	shared uint64 // the part of it that is shared memory, counted in each process
	Own    uint64 // the worker's part of memory
	Tasks  int    // processes and threads
	PIDs   []int  // the worker's comes first
	copies []int  // of the worker, asleep
}

// A Count adds up what the processes of one worker use.
type Count struct {
	Footprint
	registry *Registry
	children func(pid int) []int
	seen     map[int]bool
}

// NewCount returns one that has counted nobody yet.
func NewCount(r *Registry) *Count {
	return &Count{registry: r, children: ChildrenFinder(), seen: map[int]bool{}}
}

// Add counts a process and its descendants, but for copies that sleep.
func (c *Count) Add(pid int) { c.count(pid, false) }

// count adds a process and its descendants; memory that is its parent's is counted there.
func (c *Count) count(pid int, inParents bool) {
	if c.seen[pid] {
		return
	}
	c.seen[pid] = true
	s, ok := StatusOf(pid)
	if !ok {
		return
	}
	c.Tasks += s.threads
	if !inParents {
		c.Memory += s.memory
		c.shared += s.shared
	}
	if s.dead {
		return
	}
	if len(c.PIDs) == 0 {
		c.Own = s.memory
	}
	if !inParents {
		c.PIDs = append(c.PIDs, pid)
	}
	for _, child := range c.children(pid) {
		if c.registry.Has(child) {
			c.copies = append(c.copies, child)
		} else {
			c.count(child, haveOneMemory(child, pid))
		}
	}
}

// haveOneMemory reports whether two processes have the same memory, not copies of it, as
// after vfork until the child has called exec: each shows all of it as its own. Where the
// kernel may not be asked (kcmp, in containers without the capability SYS_PTRACE) they are
// taken for two.
func haveOneMemory(one, other int) bool {
	const ofMemory = 1 // KCMP_VM
	different, _, failed := unix.Syscall6(unix.SYS_KCMP, uintptr(one), uintptr(other), ofMemory, 0, 0, 0)
	return failed == 0 && different == 0
}

// Exactly is the same as memory, with what several processes share counted once, in
// bytes: the kernel looks at each page, which takes milliseconds. The copies share
// with the worker too, and what a copy alone has is not the worker's.
func (f Footprint) Exactly() uint64 {
	var sum uint64
	for i, pid := range f.PIDs {
		s, err := rollupOf(pid)
		if err != nil && i == 0 {
			return f.Memory // it may be hidden from us: the estimate must do
		}
		sum += s.proportional
	}
	for _, pid := range f.copies {
		if s, err := rollupOf(pid); err == nil {
			sum += s.proportional - min(s.proportional, s.dirty)
		}
	}
	return min(sum, f.Memory)
}

// Private is what the end of the worker and its kin would free for sure, in bytes.
func (f Footprint) Private() (sum uint64) {
	for _, pid := range f.PIDs {
		if s, err := rollupOf(pid); err == nil {
			sum += s.dirty
		}
	}
	return sum
}
