package tools

import (
	"math"
	"testing"
	"time"
)

func TestShortSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "<1 ms", 999 * time.Microsecond: "<1 ms", 3 * time.Millisecond: "3 ms", 1250 * time.Millisecond: "1.2 s",
		45 * time.Second: "45 s", 130 * time.Second: "130 s", 3 * time.Hour: "3 h",
	} {
		if got := shortSpan(d); got != want {
			t.Errorf("%s is written %s, not %s", d, got, want)
		}
	}
}

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
