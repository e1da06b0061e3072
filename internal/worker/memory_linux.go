package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryOfMachine returns how many bytes this machine has, or this container
// may use.
func memoryOfMachine() uint64 {
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
