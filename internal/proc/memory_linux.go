package proc

import (
	"bytes"
	"os"
	"strconv"
)

// Status is what /proc/PID/status says of what a process uses.
type Status struct {
	memory  uint64 // bytes that are no file's: anonymous, shared and swapped out
	shared  uint64 // of these, bytes of shared memory
	threads int
	User    int
	dead    bool // and not reaped yet, as copies that were dismissed
}

// StatusOf returns false if there is no such process, or it can't be seen.
func StatusOf(pid int) (s Status, ok bool) {
	data, err := readOf(pid, "status")
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
				s.User, _ = strconv.Atoi(string(users[0]))
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

// rollup is a process's part of memory, in bytes.
type rollup struct {
	resident     uint64
	proportional uint64 // of what is no file's: of a page that n processes share, an nth
	dirty, clean uint64 // what no other process has
}

// rollupOf has the kernel look at each page: 2 ms for a process with the scientific
// libraries.
func rollupOf(pid int) (r rollup, err error) {
	data, err := readOf(pid, "smaps_rollup")
	if err != nil {
		return r, err
	}
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Rss":
			r.resident = kilobytes(rest)
		case "Pss_Anon", "Pss_Shmem", "SwapPss":
			r.proportional += kilobytes(rest)
		case "Private_Dirty":
			r.dirty = kilobytes(rest)
		case "Private_Clean":
			r.clean = kilobytes(rest)
		}
	}
	return r, nil
}

// Memory is what a process has in memory, and the part of it that no other process
// shares, in bytes. It takes milliseconds.
func Memory(pid int) (all, private uint64, err error) {
	r, err := rollupOf(pid)
	return r.resident, r.dirty + r.clean, err
}

// Resident is the first of these alone, and quick: the second field of statm, which
// counts pages.
func Resident(pid int) uint64 {
	data, err := readOf(pid, "statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}

// WrittenBy is how many bytes a process, and those of its children that have ended, have
// had written to disks; not ok if that can't be told.
func WrittenBy(pid int) (n uint64, ok bool) {
	data, err := readOf(pid, "io")
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(data, []byte("\nwrite_bytes: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err = strconv.ParseUint(string(line), 10, 64)
	return n, ok && err == nil
}
