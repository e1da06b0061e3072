package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// quiet is the load average under which a machine counts as idle.
const quiet = 0.5

// newReport returns a report that says what it is measured on.
func newReport(ctx context.Context, b *bench) (*report, error) {
	versions, err := pythonVersions(ctx, b.python)
	if err != nil {
		return nil, err
	}
	r := &report{began: time.Now(), rounds: b.rounds}
	r.machine = [][2]string{
		{"processor", fmt.Sprintf("%s, %d cores", fieldOf("/proc/cpuinfo", "model name"), runtime.NumCPU())},
		{"memory", memoryTotal()},
		{"system", strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + firstLine("/proc/sys/kernel/osrelease"))},
		{"Go", strings.TrimPrefix(runtime.Version(), "go")},
		{"Python", versions},
		{"load at the start", load()},
		{"repeat it", "`" + strings.TrimSpace(fmt.Sprintf("go run ./bench -rounds %d", b.rounds)) + "`"},
	}
	return r, nil
}

func pythonVersions(ctx context.Context, python string) (string, error) {
	const code = `
import importlib.metadata, platform, sys
found = []
for name in ("ipykernel", "jupyter_client", "pyzmq", "numpy", "pandas", "matplotlib"):
    try:
        found.append(f"{name} {importlib.metadata.version(name)}")
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"{name} is not installed")
print(platform.python_version() + "; " + ", ".join(found))`
	text, err := output(ctx, python, "-c", code)
	if err != nil {
		return "", fmt.Errorf("the benchmarks need numpy, pandas and matplotlib; run \"make setup\", or name a Python that has them with %s: %w", pythonVariable, err)
	}
	return text, nil
}

func memoryTotal() string {
	var kilobytes float64
	if _, err := fmt.Sscan(fieldOf("/proc/meminfo", "MemTotal"), &kilobytes); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GB", kilobytes*1024/1e9)
}

// load says how busy the machine was in the last minute: measurements taken
// beside other work are worth little.
func load() string {
	var average float64
	if _, err := fmt.Sscan(firstLine("/proc/loadavg"), &average); err != nil {
		return "unknown"
	}
	text := fmt.Sprintf("%.2f", average)
	if average > quiet {
		text += ": the machine was not idle"
		progress("load average %.2f: the machine is not idle, the numbers will be worth little", average)
	}
	return text
}

// fieldOf returns the first value of a field in a file of "name: value" lines,
// or "unknown".
func fieldOf(path, name string) string {
	data, _ := os.ReadFile(path) // not there on other systems
	for line := range strings.Lines(string(data)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstLine(path string) string {
	data, _ := os.ReadFile(path) // not there on other systems
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
