//go:build unix

package command

import (
	"runtime"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"understudy/internal/worker/proc"
)

// fewFiles is a limit on open files that a few dozen sessions would reach;
// each takes about ten descriptors of the server's.
const fewFiles = 1024

func freeSpace(directory string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(directory, &stat); err != nil {
		return 0, err
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), nil //nolint:gosec,unconvert // the types differ between systems
}

func (f *findings) limits() {
	if err := proc.CheckDescriptors(); err != nil {
		f.add(groupSystem, "open files", stateFailed, "%v", err)
	} else {
		f.limit("open files", unix.RLIMIT_NOFILE, fewFiles)
	}
	f.limit("processes", unix.RLIMIT_NPROC, 256)
}

func (f *findings) limit(name string, resource int, few uint64) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		f.add(groupSystem, name, stateNote, "the limit is unknown: %v", err)
		return
	}
	current := uint64(limit.Cur) //nolint:gosec,unconvert // signed on some systems
	switch {
	case current > 1<<62:
		f.add(groupSystem, name, stateOK, "no limit")
	case current < few:
		f.add(groupSystem, name, stateNote, "at most %s; raise it with ulimit for many interpreters", humanize.Comma(int64(current))) //nolint:gosec // below few
	default:
		f.add(groupSystem, name, stateOK, "at most %s", humanize.Comma(int64(current))) //nolint:gosec // below 1<<62
	}
}

// cleanUp says how processes that sessions leave behind are found.
func (f *findings) cleanUp() {
	if runtime.GOOS != "linux" {
		f.add(groupSystem, "clean-up", stateNote, "by process groups: a process that leaves its group outlives its interpreter on this system")
		return
	}
	says := "orphans are adopted and ended; the root process ends what a killed server leaves"
	if err := adoptOrphans(); err != nil { // as a container may forbid
		says = "the root process ends what a killed server leaves; orphans can't be adopted here: " + err.Error()
	}
	f.add(groupSystem, "clean-up", stateOK, "%s", says)
}
