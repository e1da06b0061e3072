package sandbox

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRlimits(t *testing.T) {
	limits := Limits{Memory: 1 << 30, Processes: 20, OpenFiles: 100, FileSize: 1 << 20}
	tests := map[string]struct {
		limits   Limits
		ownUsers bool
		want     map[int]uint64
	}{
		"none":      {},
		"all":       {limits, true, map[int]uint64{unix.RLIMIT_DATA: 1<<30 + 256<<20, unix.RLIMIT_NPROC: 20, unix.RLIMIT_NOFILE: 100, unix.RLIMIT_FSIZE: 1 << 20}},
		"one user":  {limits, false, map[int]uint64{unix.RLIMIT_DATA: 1<<30 + 256<<20, unix.RLIMIT_NOFILE: 100, unix.RLIMIT_FSIZE: 1 << 20}},
		"too much":  {Limits{OpenFiles: math.MaxInt}, true, map[int]uint64{unix.RLIMIT_NOFILE: hardLimit(unix.RLIMIT_NOFILE)}},
		"CPUs only": {Limits{CPUs: 2, Disk: 1, Output: 1}, true, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := rlimitsFor(test.limits, test.ownUsers)
			insist(t, len(got) == len(test.want), "got %v, want %v", got, test.want)
			for _, limit := range got {
				if want := test.want[int(limit[0])]; limit[1] != want || limit[2] != want {
					t.Errorf("resource %d: got %v, want %d", limit[0], limit, want)
				}
			}
		})
	}
}

func TestReleaseAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.14.0": true, "5.13.19-2-pve": false, "6.8.0-31-generic": true, "4.18.0": false, "6.1": true, "": false, "nonsense": false,
	} {
		got := releaseAtLeast(release, 5, 14)
		expect(t, got == want, "%q: got %v", release, got)
	}
}
