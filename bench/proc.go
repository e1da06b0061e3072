package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// canMeasureMemory reports whether the system tells what processes use.
func canMeasureMemory() bool { return runtime.GOOS == "linux" }

// resident is the memory of a process that is in RAM, in bytes.
func resident(pid int) (float64, error) { return kilobytes(pid, "status", "VmRSS") }

// peak is the most that was ever resident of a process, in bytes.
func peak(pid int) (float64, error) { return kilobytes(pid, "status", "VmHWM") }

// proportional is resident memory in which a page that n processes share counts
// as a page/n, in bytes.
func proportional(pid int) (float64, error) { return kilobytes(pid, "smaps_rollup", "Pss") }

// kilobytes reads a field in kB of a process's file and returns bytes.
func kilobytes(pid int, file, field string) (float64, error) {
	path := fmt.Sprintf("/proc/%d/%s", pid, file)
	var n float64
	if _, err := fmt.Sscan(fieldOf(path, field), &n); err != nil {
		return 0, fmt.Errorf("reading %s from %s: %w", field, path, err)
	}
	return n * 1024, nil
}

// private is the memory that a process shares with nobody, in bytes.
func private(pid int) (float64, error) {
	clean, err := kilobytes(pid, "smaps_rollup", "Private_Clean")
	if err != nil {
		return 0, err
	}
	dirty, err := kilobytes(pid, "smaps_rollup", "Private_Dirty")
	return clean + dirty, err
}

// available is how much memory the machine could still give, in bytes.
func available() (float64, error) {
	var n float64
	if _, err := fmt.Sscan(fieldOf("/proc/meminfo", "MemAvailable"), &n); err != nil {
		return 0, fmt.Errorf("reading MemAvailable from /proc/meminfo: %w", err)
	}
	return n * 1024, nil
}

// familyMemory is what a process and all its descendants use together, in
// bytes, pages that they share counted once, and how many processes those are.
func familyMemory(pid int) (sum float64, processes int, err error) {
	family, err := descendants(pid)
	if err != nil {
		return 0, 0, err
	}
	for _, member := range append(family, pid) {
		used, err := proportional(member)
		switch {
		case err == nil:
			sum += used
			processes++
		case isAlive(member):
			return 0, 0, err
		}
	}
	return sum, processes, nil
}

// descendants returns the processes that a process has started, those that they
// have started, and so on.
func descendants(pid int) ([]int, error) {
	children, err := families()
	all := slices.Clone(children[pid])
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, err
}

// childrenOf returns the processes that a process has started, whose command
// lines contain word.
func childrenOf(pid int, word string) ([]int, error) {
	children, err := families()
	var found []int
	for _, child := range children[pid] {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)) // may have ended
		if slices.Contains(strings.Split(string(line), "\x00"), word) {
			found = append(found, child)
		}
	}
	return found, err
}

// families returns the living children of every process.
func families() (map[int][]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	children := map[int][]int{}
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if parent, alive := parentOf(pid); err == nil && alive {
			children[parent] = append(children[parent], pid)
		}
	}
	return children, err
}

// parentOf returns a process's parent, and whether the process is alive: neither
// gone nor a zombie.
func parentOf(pid int) (parent int, alive bool) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // may have ended
	// The name before may hold blanks and brackets of its own.
	rest := string(data[max(0, strings.LastIndex(string(data), ")")):])
	fields := strings.Fields(rest)
	if len(fields) < 3 || fields[1] == "Z" || fields[1] == "X" {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[2])
	return parent, err == nil
}

func isAlive(pid int) bool {
	_, alive := parentOf(pid)
	return alive
}
