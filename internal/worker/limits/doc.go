// Package limits keeps workers to what they may use, on Linux. There are three keepers:
//
//   - Rlimits are put on a process from outside before code runs in it, and inherited.
//   - A cgroup, where one is delegated, bounds a line far above the memory limit, as its
//     copies are in it too.
//   - The Limiter looks: at the memory and the processes of a worker, its descendants and
//     orphans, at the files of whoever runs, and at the machine's memory.
//
// Memory is counted by /proc/PID/status, which counts what forks share once for each, and by
// smaps_rollup only when that passes the limit. A worker without children may have 256 MiB
// more, since RLIMIT_DATA gives it a MemoryError first, which leaves the session as it is.
//
// Files are counted by a walk. What is there when a run begins is never a reason to end it.
// Growth beyond the limit is answered in two steps: first no file may grow any more, which
// code that writes meets as an error; and only who goes on all the same is ended.
package limits

import (
	"log/slog"
	"time"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
)

// Options are what a Limiter needs.
type Options struct {
	Limits   sandbox.Limits // of each worker
	Registry *proc.Registry
	Present  func() []Worker // those that are not closed yet
	Log      *slog.Logger
	// Available says how much memory the machine, or the container, has left and how
	// much it has, in bytes; by default the system is asked.
	Available func() (left, all uint64)
	// Patience is how long a worker that was killed may take to free its memory before
	// another one has to go in its place, and five times what a run waits, once, until
	// its files are counted; 1 s.
	Patience time.Duration
}

// Outcome is what is known of a run that has ended, as far as files may have mattered.
type Outcome struct {
	Notes     []string // of commands, how they ended
	Traceback string   // "" without an exception
}
