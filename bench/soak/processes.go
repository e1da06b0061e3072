package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// markName is the environment variable that marks the processes of a soak. It
// doesn't begin like the server's own, which workers do not inherit.
const markName = "MARK_OF_SOAK"

// marked returns the processes that have mark in their environment.
func marked(mark string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails on bad patterns only
	for _, dir := range dirs {
		environ, _ := os.ReadFile(dir + "/environ") // it may have ended, or not be ours
		if bytes.Contains(environ, []byte(mark)) {
			line, _ := os.ReadFile(dir + "/cmdline")
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(dir), bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// childrenOf returns the processes whose parent is pid and that are not dead,
// oldest first.
func childrenOf(pid int) []int {
	started := map[int]int{} // in ticks of 10 ms
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		child, _ := strconv.Atoi(filepath.Base(dir)) // digits
		stat := statOf(child)
		if len(stat) >= 20 && stat[0] != "Z" && stat[1] == strconv.Itoa(pid) {
			started[child], _ = strconv.Atoi(stat[19])
		}
	}
	var pids []int
	for child := range started {
		pids = append(pids, child)
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Or(started[a]-started[b], a-b) })
	return pids
}

// statOf returns the fields of a process's stat file from the state on.
func statOf(pid int) []string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may have ended
	end := bytes.LastIndex(data, []byte(") "))
	if end < 0 {
		return nil
	}
	return strings.Fields(string(data[end+2:]))
}

// isRunning reports whether a process is there and not dead.
func isRunning(pid int) bool {
	stat := statOf(pid)
	return len(stat) > 0 && stat[0] != "Z"
}

// residentMemory is what a process holds in memory, in bytes.
func residentMemory(pid int) int64 {
	fields := strings.Fields(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)))))
	if len(fields) < 2 {
		failf("statm of process %d: %q", pid, fields)
	}
	return must(strconv.ParseInt(fields[1], 10, 64)) * int64(os.Getpagesize())
}

func killProcess(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Kill()
}
