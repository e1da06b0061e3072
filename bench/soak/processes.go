package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// markName is the environment variable that marks the processes of a soak. It
// doesn't begin like the server's own, which workers do not inherit.
const markName = "MARK_OF_SOAK"

// marked returns the processes that have mark in their environment.
func marked(mark string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // fails on bad patterns only
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			continue // it has ended, or is not ours
		}
		environ, _ := io.ReadAll(file) // it may end while we read
		_ = file.Close()
		if bytes.Contains(environ, []byte(mark)) {
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(path)), commandLine(path)))
		}
	}
	return found
}

// commandLine returns the arguments of the process that a file in its
// directory of /proc belongs to.
func commandLine(path string) []string {
	line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")) // it may have ended
	return strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
}

// childrenOf returns the processes whose parent is pid and that are not dead,
// oldest first.
func childrenOf(pid int) []int {
	type process struct {
		pid     int
		started uint64
	}
	var found []process
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		stat := statOf(path)
		if len(stat) < 20 || stat[0] == "Z" || stat[1] != strconv.Itoa(pid) {
			continue
		}
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		started, _ := strconv.ParseUint(stat[19], 10, 64)
		if err == nil {
			found = append(found, process{child, started})
		}
	}
	slices.SortFunc(found, func(a, b process) int {
		if a.started != b.started { // in ticks of 10 ms
			return int(int64(a.started) - int64(b.started))
		}
		return a.pid - b.pid
	})
	pids := make([]int, len(found))
	for i, p := range found {
		pids[i] = p.pid
	}
	return pids
}

// statOf returns the fields of a stat file from the state on.
func statOf(path string) []string {
	data, _ := os.ReadFile(path) // it may have ended
	end := bytes.LastIndex(data, []byte(") "))
	if end < 0 {
		return nil
	}
	return strings.Fields(string(data[end+2:]))
}

// isRunning reports whether a process is there and not dead.
func isRunning(pid int) bool {
	stat := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	return len(stat) > 0 && stat[0] != "Z"
}

// awaitDeath waits for the end of a process that ought to have ended.
func awaitDeath(pid int) error {
	deadline := time.Now().Add(endTime)
	for isRunning(pid) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d still lives after %s", pid, endTime)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func killProcess(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Signal(syscall.SIGKILL)
}
