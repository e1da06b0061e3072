package proc

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

type fileID struct{ device, inode uint64 }

// mostOpen is how many descriptors of a worker and its kin are looked at. Code can have
// millions, and all others wait for their turn meanwhile.
const mostOpen = 5_000

// atMost returns what says so often to go on.
func atMost(n int) (goOn func() bool) {
	return func() bool { n--; return n >= 0 }
}

// openFiles yields the files that a process has open, directories and devices left out.
// Where that can't be seen, or the process is gone, there are none. It asks before each
// descriptor whether to go on.
func openFiles(pid int, goOn func() bool) iter.Seq[unix.Stat_t] {
	return func(yield func(unix.Stat_t) bool) {
		if !goOn() {
			return
		}
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			var stat unix.Stat_t
			if !goOn() {
				return
			}
			if unix.Stat(filepath.Join(dir, entry.Name()), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
				continue
			}
			if !yield(stat) {
				return
			}
		}
	}
}

// DeletedFiles adds up files without a name that processes have open, on one device.
type DeletedFiles struct {
	Size   int64 // bytes
	device uint64
	seen   map[fileID]bool
}

// NewDeletedFiles is for the device of a directory.
func NewDeletedFiles(dir string) *DeletedFiles {
	var stat unix.Stat_t
	if unix.Stat(dir, &stat) != nil {
		return &DeletedFiles{}
	}
	return &DeletedFiles{device: stat.Dev, seen: map[fileID]bool{}}
}

// Add adds those of a worker and its kin until ctx ends.
func (f *DeletedFiles) Add(ctx context.Context, pids []int) {
	if f.seen == nil {
		return
	}
	more := atMost(mostOpen)
	// In any order, so that what is not looked at now may be the next time.
	pids = slices.Clone(pids)
	rand.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
	for _, pid := range pids {
		for stat := range openFiles(pid, func() bool { return ctx.Err() == nil && more() }) {
			if id := (fileID{stat.Dev, stat.Ino}); stat.Nlink == 0 && stat.Dev == f.device && !f.seen[id] {
				f.seen[id] = true
				f.Size += stat.Blocks * 512
			}
		}
	}
}

// sharedMemory is where programs keep files in memory that have names.
const sharedMemory = "/dev/shm"

// Unmapped is what processes have in files in memory (memfd_create, /dev/shm) beyond
// what they have mapped of such, in bytes: no status of a process shows it. Where each
// has mapped its own and has others open too, it is less than that.
func (f Footprint) Unmapped() uint64 {
	var sum uint64
	seen := map[fileID]bool{}
	goOn := atMost(mostOpen)
	for i, pid := range f.PIDs {
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
