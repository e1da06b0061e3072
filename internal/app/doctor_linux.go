package app

import "golang.org/x/sys/unix"

// cleanUp says how processes that sessions leave behind are found. A container
// may forbid the call that adopts orphans.
func cleanUp() string {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return "the root process ends what a killed server leaves; orphans can't be adopted here: " + err.Error()
	}
	return "orphans are adopted and ended; the root process ends what a killed server leaves"
}
