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

// childrenOf returns the processes that a process has started, whose command
// lines contain word.
func childrenOf(pid int, word string) ([]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	var found []int
	for _, path := range paths {
		data, _ := os.ReadFile(path) // may have ended
		_, fields, _ := strings.Cut(string(data), ") ")
		if f := strings.Fields(fields); len(f) < 2 || f[1] != strconv.Itoa(pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && slices.Contains(strings.Split(string(line), "\x00"), word) {
			found = append(found, child)
		}
	}
	return found, err
}
