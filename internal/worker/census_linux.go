package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// footprint is what a worker and the processes that its code has started use.
type footprint struct {
	// memory is what they have for themselves, in bytes: an estimate that is cheap to
	// get, and too high where one is a fork of another and shares memory with it.
	memory uint64
	shared uint64 // the part of it that is shared memory, counted in each process
	own    uint64 // the worker's part of memory
	tasks  int    // processes and threads
	pids   []int  // the worker's comes first
	copies []int  // of the worker, asleep
}

// A census counts the processes of one worker.
type census struct {
	footprint
	registry *registry
	children func(pid int) []int
	seen     map[int]bool
}

func (c *census) add(pid int) { c.count(pid, false) }

// count adds a process and its descendants; memory that is its parent's is counted there.
func (c *census) count(pid int, inParents bool) {
	if c.seen[pid] {
		return
	}
	c.seen[pid] = true
	s, ok := statusOf(pid)
	if !ok {
		return
	}
	c.tasks += s.threads
	if !inParents {
		c.memory += s.memory
		c.shared += s.shared
	}
	if s.dead {
		return
	}
	if len(c.pids) == 0 {
		c.own = s.memory
	}
	if !inParents {
		c.pids = append(c.pids, pid)
	}
	for _, child := range c.children(pid) {
		if c.registry.has(child) {
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

// status is what /proc/PID/status says of what a process uses.
type status struct {
	memory  uint64 // bytes that are no file's: anonymous, shared and swapped out
	shared  uint64 // of these, bytes of shared memory
	threads int
	user    int
	dead    bool // and not reaped yet, as copies that were dismissed
}

func statusOf(pid int) (s status, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, false
	}
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "RssAnon", "RssShmem", "VmSwap":
			n := kilobytes(rest)
			s.memory += n
			if string(name) == "RssShmem" {
				s.shared += n
			}
		case "State":
			s.dead = bytes.HasPrefix(bytes.TrimSpace(rest), []byte("Z"))
		case "Threads":
			s.threads, _ = strconv.Atoi(string(bytes.TrimSpace(rest)))
		case "Uid":
			if users := bytes.Fields(rest); len(users) > 0 {
				s.user, _ = strconv.Atoi(string(users[0]))
			}
		}
	}
	return s, true
}

// kilobytes reads "  1234 kB" as bytes.
func kilobytes(text []byte) uint64 {
	fields := bytes.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[0]), 10, 64)
	return n << 10
}

// exactly is the same as memory, with what several processes share counted once, in
// bytes: the kernel looks at each page, which takes milliseconds. The copies share
// with the worker too, and what a copy alone has is not the worker's.
func (f footprint) exactly() uint64 {
	var sum uint64
	for i, pid := range f.pids {
		s, err := sharesOf(pid)
		if err != nil && i == 0 {
			return f.memory // it may be hidden from us: the estimate must do
		}
		sum += s.proportional
	}
	for _, pid := range f.copies {
		if s, err := sharesOf(pid); err == nil {
			sum += s.proportional - min(s.proportional, s.private)
		}
	}
	return min(sum, f.memory)
}

// private is what the end of the worker and its kin would free for sure, in bytes.
func (f footprint) private() (sum uint64) {
	for _, pid := range f.pids {
		if s, err := sharesOf(pid); err == nil {
			sum += s.private
		}
	}
	return sum
}

// shares are a process's part of the memory that is no file's, in bytes.
type shares struct {
	proportional uint64 // of a page that n processes share, an nth
	private      uint64 // what no other process has
}

func sharesOf(pid int) (s shares, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return s, err
	}
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Pss_Anon", "Pss_Shmem", "SwapPss":
			s.proportional += kilobytes(rest)
		case "Private_Dirty":
			s.private += kilobytes(rest)
		}
	}
	return s, nil
}
