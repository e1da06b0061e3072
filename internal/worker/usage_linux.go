package worker

import (
	"fmt"
	"os"

	"understudy/sessions"
)

// Usage says what the worker's process uses now.
func (w *spawned) Usage() (usage sessions.Usage, err error) {
	err = os.ErrProcessDone
	w.process.withPID(func() { usage.Memory, err = residentSize(w.process.cmd.Process.Pid) })
	return usage, err
}

// residentSize returns bytes.
func residentSize(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident uint64 // pages
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, err
	}
	return resident * uint64(os.Getpagesize()), nil
}
