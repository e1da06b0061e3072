package proc

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MachineMemory returns how many bytes of memory this machine has, or this container
// may use, 0 where nobody knows.
func MachineMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	limit := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // Totalram has 32 bits on some machines
	for _, path := range memoryLimitFiles() {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err == nil {
			limit = min(limit, n) // "max" is no number
		}
	}
	return limit
}

// memoryLimitFiles are where control groups of both versions keep the limit of
// this process's own group, and, seen from inside a container, of the container.
func memoryLimitFiles() []string {
	paths := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return paths
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[2] == "/" {
			continue
		}
		switch fields[1] {
		case "":
			paths = append(paths, fmt.Sprintf("/sys/fs/cgroup%s/memory.max", fields[2]))
		case "memory":
			paths = append(paths, fmt.Sprintf("/sys/fs/cgroup/memory%s/memory.limit_in_bytes", fields[2]))
		}
	}
	return paths
}

// MemoryLeft returns a function that says how much memory the machine has left and
// how much it has, in bytes, or the container where that has less left. It is 0 and 0
// where that can't be told.
func MemoryLeft() func() (left, all uint64) {
	groups := memoryGroups()
	return func() (left, all uint64) {
		left, all = freeOfMachine()
		for _, g := range groups {
			if l, a, ok := g.free(); ok && l < left {
				left, all = l, a
			}
		}
		return left, all
	}
}

func freeOfMachine() (left, all uint64) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "MemTotal":
			all = kilobytes(rest)
		case "MemAvailable":
			return kilobytes(rest), all
		}
	}
	return 0, 0 // before Linux 3.14
}

// memoryGroup is a control group that may have a limit on memory.
type memoryGroup struct {
	limit, usage, stat string
	files              string // begins the names of what files have, with all groups below
}

// memoryGroups are those of this process and all above, of both versions.
func memoryGroups() (groups []memoryGroup) {
	for _, file := range memoryLimitFiles() {
		dir, name := path.Split(file)
		usage, files := "memory.current", ""
		if name != "memory.max" {
			usage, files = "memory.usage_in_bytes", "total_"
		}
		for ; strings.HasPrefix(dir, "/sys/fs/cgroup/"); dir = path.Dir(path.Clean(dir)) + "/" {
			g := memoryGroup{dir + name, dir + usage, dir + "memory.stat", files}
			if _, _, ok := g.free(); ok {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// free is not ok where there is no limit. What files have in memory counts as left:
// it gives way.
func (g memoryGroup) free() (left, all uint64, ok bool) {
	all, ok = numberIn(g.limit)
	if !ok || all > math.MaxInt64/2 { // how version 1 writes none
		return 0, 0, false
	}
	used, ok := numberIn(g.usage)
	if !ok {
		return 0, 0, false
	}
	data, _ := os.ReadFile(g.stat) // without it nothing gives way
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		switch string(name) {
		case g.files + "inactive_file", g.files + "active_file":
			n, _ := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
			used -= min(used, n)
		}
	}
	return all - min(all, used), all, true
}

func numberIn(file string) (uint64, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(data)), 10, 64)
	return n, err == nil
}
