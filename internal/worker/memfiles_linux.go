package worker

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// sharedMemory is where programs keep files in memory that have names.
const sharedMemory = "/dev/shm"

// unmapped is what processes have in files in memory (memfd_create, /dev/shm) beyond
// what they have mapped of such, in bytes: no status of a process shows it. Where each
// has mapped its own and has others open too, it is less than that.
func (f footprint) unmapped() uint64 {
	var sum uint64
	seen := map[fileID]bool{}
	goOn := atMost(mostOpen)
	for i, pid := range f.pids {
		if i == 0 {
			sum += ownSharedMemory(pid)
		}
		for stat := range openFiles(pid, goOn) {
			if id := (fileID{stat.Dev, stat.Ino}); memoryDevices()[stat.Dev] && !seen[id] {
				seen[id] = true
				sum += uint64(stat.Blocks) * 512 //nolint:gosec // never negative
			}
		}
	}
	return sum - min(sum, f.shared)
}

// ownSharedMemory is what is in the /dev/shm of a session that has one of its own, in
// bytes; 0 where it is everybody's.
func ownSharedMemory(pid int) uint64 {
	path := fmt.Sprintf("/proc/%d/root%s", pid, sharedMemory)
	var stat unix.Stat_t
	var all unix.Statfs_t
	if unix.Lstat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR || memoryDevices()[stat.Dev] {
		return 0
	}
	if unix.Statfs(path, &all) != nil || all.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return (all.Blocks - all.Bfree) * uint64(all.Bsize) //nolint:gosec // never negative
}

// memoryDevices are the devices of memfds and of the machine's /dev/shm.
var memoryDevices = sync.OnceValue(func() map[uint64]bool {
	devices := map[uint64]bool{}
	var stat unix.Stat_t
	var all unix.Statfs_t
	if fd, err := unix.MemfdCreate("understudy", unix.MFD_CLOEXEC); err == nil {
		if unix.Fstat(fd, &stat) == nil {
			devices[stat.Dev] = true
		}
		_ = unix.Close(fd)
	}
	if unix.Statfs(sharedMemory, &all) == nil && all.Type == unix.TMPFS_MAGIC && unix.Stat(sharedMemory, &stat) == nil {
		devices[stat.Dev] = true
	}
	return devices
})
