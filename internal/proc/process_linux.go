package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Process is a process as /proc shows it.
type Process struct {
	ID
	Parent, group, session int
	Dead                   bool // a zombie without living threads
}

// Read returns false if there is no such process, or it can't be seen.
func Read(pid int) (Process, bool) {
	p, ok, _ := lookAt(pid)
	return p, ok
}

// lookAt returns false if there is no such process. An error means that there
// may be one, as when this process may open no more files.
func lookAt(pid int) (Process, bool, error) {
	data, err := readOf(pid, "stat")
	if err != nil {
		return Process{}, false, unlessGone(err)
	}
	p, ok := parseStat(pid, string(data))
	return p, ok, nil
}

// readOf returns a file of /proc/PID whole. os.ReadFile makes ten system calls where three
// do, as it tries whether files of that kind can be waited for.
func readOf(pid int, name string) ([]byte, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/%s", pid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data := make([]byte, 0, 2048)
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return data, err
		}
		if data = data[:len(data)+n]; len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
	}
}

// HasEnded reports whether the process is gone, or waits to be reaped. That it can't be
// looked at, for want of file descriptors, say, is no end.
func (id ID) HasEnded() bool {
	p, ok, err := lookAt(id.PID)
	return err == nil && (!ok || p.Dead || p.ID != id)
}

// unlessGone returns nil for the errors of reading about a process that has ended.
func unlessGone(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// parseStat reads /proc/PID/stat. The second field is the program's name in
// parentheses and may hold anything, parentheses too.
func parseStat(pid int, stat string) (Process, bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const last = 19 // starttime, counted from the state
	if len(fields) <= last {
		return Process{}, false
	}
	p := Process{ID: ID{PID: pid}}
	p.Parent, _ = strconv.Atoi(fields[1])
	p.group, _ = strconv.Atoi(fields[2])
	p.session, _ = strconv.Atoi(fields[3])
	threads, _ := strconv.Atoi(fields[17])
	p.Start, _ = strconv.ParseUint(fields[last], 10, 64)
	p.Dead = (fields[0] == "Z" || fields[0] == "X") && threads <= 1
	return p, true
}

// List returns all processes.
func List() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var procs []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := Read(pid); ok {
			procs = append(procs, p)
		}
	}
	return procs, nil
}

// environHas reports whether the environment that the process was started with
// holds an entry that begins with text and, when whole is set, ends there too.
func environHas(pid int, text string, whole bool) bool {
	data, err := readOf(pid, "environ")
	if err != nil {
		return false
	}
	if whole {
		text += "\x00"
	}
	return bytes.HasPrefix(data, []byte(text)) || bytes.Contains(data, []byte("\x00"+text))
}

// TagOf returns the tag of a process: its limit on file locks, which Linux has
// kept, inherited and ignored since 2.4.25.
func TagOf(pid int) (uint64, bool) {
	soft, _, found := LimitOf(pid, "Max file locks")
	return soft, found && soft != unix.RLIM_INFINITY
}

// LimitOf returns a resource limit of a process by its name in /proc/PID/limits, which
// every user may read.
func LimitOf(pid int, name string) (soft, hard uint64, found bool) {
	data, err := readOf(pid, "limits")
	_, rest, found := strings.Cut(string(data), name)
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 2 {
		return 0, 0, false
	}
	values := [2]uint64{unix.RLIM_INFINITY, unix.RLIM_INFINITY}
	for i := range values {
		if n, err := strconv.ParseUint(fields[i], 10, 64); err == nil { // "unlimited" is no number
			values[i] = n
		}
	}
	return values[0], values[1], found
}

// SetTag gives a process its tag. It fails where that is another user's and this one is a
// root without CAP_SYS_RESOURCE, as in most containers.
func SetTag(pid int, tag uint64) {
	_ = unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: tag, Max: tag}, nil)
}

// forbidCoreDumps of a process: one of a large session would take minutes and gigabytes
// before the crash is answered. Code may raise that limit again. A system that refuses
// costs only this comfort.
func forbidCoreDumps(pid int) {
	var core unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &core) == nil {
		core.Cur = 0
		_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &core, nil)
	}
}

// Kill sends SIGKILL to the process and to no later one of the same id.
// It reports whether the signal was allowed.
func Kill(id ID) bool {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := Read(id.PID); !ok || now.Start != id.Start {
		return true
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != unix.EPERM
	}
	return unix.Kill(id.PID, unix.SIGKILL) != unix.EPERM // before Linux 5.3
}
