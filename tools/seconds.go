package tools

import (
	"math"
	"time"
)

// secondsOf turns a record's seconds into a Duration.
func secondsOf(s float64) time.Duration {
	if s >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}
