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
