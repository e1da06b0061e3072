package worker

import "golang.org/x/sys/unix"

// limitMemory bounds the address space of a process that has just been started.
func limitMemory(pid int, bytes uint64) error {
	limit := unix.Rlimit{Cur: bytes, Max: bytes}
	return unix.Prlimit(pid, unix.RLIMIT_AS, &limit, nil)
}
