package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// seldom is how far the heap grows between two collections while it is small, in
	// percent. The live heap is a few megabytes, so that the usual 100 collects often: in
	// paired runs warm calls took 7 % less time with 400 (median of 11 pairs; single pairs
	// between 15 % less and 9 % more).
	seldom = 400
	// smallHeap is up to how many live bytes it does: what a session makes the server read
	// is not to be held five times.
	smallHeap = 12 << 20
)

// collectSeldom sets how often garbage is collected, unless the user has.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(seldom)
		afterCollection(seldom)
	}
}

// afterCollection looks at the heap after each collection from now on.
func afterCollection(percent int) {
	runtime.AddCleanup(new([16]byte), func(before int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		now := seldom
		if live[0].Value.Uint64() > smallHeap {
			now = 100
		}
		if now != before {
			debug.SetGCPercent(now)
		}
		afterCollection(now)
	}, percent)
}
