package tools

import (
	"math"
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	value := func(f float64) *float64 { return &f }
	for _, test := range []struct {
		argument *float64
		seconds  time.Duration
	}{
		{nil, 0},
		{value(1.5), 1500 * time.Millisecond},
		{value(0), 0},
		{value(1e-12), 1},
		{value(1e300), math.MaxInt64},
	} {
		if got := seconds(test.argument); got != test.seconds {
			t.Errorf("seconds: %d, want %d", got, test.seconds)
		}
	}
}
