// Package proc knows processes: what the kernel says of them, who belongs together, and how
// all of a worker's are ended, whatever its code has done to get them away. It knows no
// session and no frame. Most of it reads /proc, so it is for Linux; elsewhere a worker's kin
// are its process group, or its job object, and the rest is not known.
//
//   - ID: names a process for ever; what is signalled without one must not have been reaped.
//   - Kin: a worker's process and all that its code has started.
//   - Mark: what kin inherit and keep, by which those are found who have left all else.
//   - Registry: the processes of the server that are nobody's kin.
//   - orphan: a process whose parent died before it. This process adopts and reaps it, unless
//     a forker does, or it has an owner (StartChild, KeepChild).
//   - Footprint: what a worker and its kin use; Status, Memory: what one process does.
package proc

import (
	"fmt"
	"time"
)

// KillGrace is how long the end of killed processes may take: longer only in an
// uninterruptible wait.
const KillGrace = 5 * time.Second

// An ID names a process for ever: ids are used again, start times are not.
type ID struct {
	PID   int
	Start uint64 // clock ticks since boot
}

func (id ID) String() string { return fmt.Sprintf("%d.%d", id.PID, id.Start) }
