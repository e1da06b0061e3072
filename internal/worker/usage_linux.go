package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"understudy/sessions"
)

// Usage says what the worker's process uses now.
func (w *worker) Usage() (sessions.Usage, error) { return w.process.usage() }

func (p *process) usage() (usage sessions.Usage, err error) {
	err = os.ErrProcessDone
	select {
	case <-p.dead: // it may take a while to be reaped
		return usage, err
	default:
	}
	p.withPID(func() { usage, err = usageOf(p.pid) })
	return usage, err
}

// Resident is the second field of statm, which counts pages.
func (w *worker) Resident() (memory uint64) {
	p := w.process
	select {
	case <-p.dead:
		return 0
	default:
	}
	p.withPID(func() { memory = residentOf(p.pid) })
	return memory
}

func residentOf(pid int) uint64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}

// usageOf adds up what the kernel says of a process's pages: 2 ms for one with
// the scientific libraries, for it looks at each page.
func usageOf(pid int) (usage sessions.Usage, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return usage, err
	}
	for line := range bytes.Lines(data) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		size, _ := strconv.ParseUint(string(fields[0]), 10, 64) // kB
		switch string(name) {
		case "Rss":
			usage.Memory = size << 10
		case "Private_Clean", "Private_Dirty":
			usage.Private += size << 10
		}
	}
	return usage, nil
}
