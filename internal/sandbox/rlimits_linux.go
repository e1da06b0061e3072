package sandbox

import "golang.org/x/sys/unix"

// MemoryAllowance is what a process may map beyond the memory limit, in bytes: the
// limit is for what is used, and Python's libraries map more than they touch, stacks
// of threads above all.
const MemoryAllowance = 256 << 20

// rlimitsFor returns the limits of each process of a session, as resource, soft and
// hard limit. RLIMIT_DATA rather than RLIMIT_AS: what it refuses becomes a MemoryError
// just as well, and forty threads don't need a gigabyte. The kernel counts the
// processes of RLIMIT_NPROC for each user, so it is left out unless ownUsers says
// that the session has a user, or a namespace of users, of its own; before Linux 5.14
// such a namespace doesn't count apart.
func rlimitsFor(l Limits, ownUsers bool) [][3]uint64 {
	var all [][3]uint64
	add := func(resource int, value uint64) {
		value = min(value, hardLimit(resource)) // nobody but root may raise it
		all = append(all, [3]uint64{uint64(resource), value, value})
	}
	if l.Memory > 0 {
		add(unix.RLIMIT_DATA, uint64(l.Memory)+MemoryAllowance)
	}
	if l.Processes > 0 && ownUsers {
		add(unix.RLIMIT_NPROC, uint64(l.Processes))
	}
	if l.OpenFiles > 0 {
		add(unix.RLIMIT_NOFILE, uint64(l.OpenFiles))
	}
	if l.FileSize > 0 {
		add(unix.RLIMIT_FSIZE, uint64(l.FileSize))
	}
	return all
}

// hardLimit is what this process, and so its children, may have at most.
func hardLimit(resource int) uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(resource, &limit) != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Max
}

// NamespaceCountsProcesses reports whether the kernel counts the processes of a
// namespace of users apart from those of its parent (Linux 5.14).
func NamespaceCountsProcesses() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return releaseAtLeast(unix.ByteSliceToString(name.Release[:]), 5, 14)
}
