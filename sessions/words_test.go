package sessions

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestInWords(t *testing.T) {
	const ms = time.Millisecond
	for d, want := range map[time.Duration]string{
		-time.Second:                     "0 seconds",
		0:                                "0 seconds",
		1:                                "less than 1 millisecond",
		ms:                               "1 millisecond",
		3 * ms:                           "3 milliseconds",
		999 * ms:                         "999 milliseconds",
		999*ms + 600*time.Microsecond:    "1 second",
		time.Second:                      "1 second",
		1049 * ms:                        "1 second",
		1500 * ms:                        "1.5 seconds",
		9949 * ms:                        "9.9 seconds",
		9950 * ms:                        "10 seconds",
		45 * time.Second:                 "45 seconds",
		59499 * ms:                       "59 seconds",
		59500 * ms:                       "1 minute",
		65 * time.Second:                 "1 minute 5 seconds",
		time.Hour - 400*ms:               "1 hour",
		time.Hour:                        "1 hour",
		61 * time.Minute:                 "1 hour 1 minute",
		2*time.Hour + 29*time.Second:     "2 hours",
		24 * time.Hour:                   "1 day",
		24*time.Hour - time.Second:       "1 day",
		49 * time.Hour:                   "2 days 1 hour",
		time.Duration(math.MaxInt64 - 1): "106751 days 23 hours",
	} {
		if got := InWords(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestSomeOf(t *testing.T) {
	names := slices.Repeat([]string{"a"}, 7)
	if got := someOf(names); got != "a, a, a, a, a and 2 more" {
		t.Error(got)
	}
	if got := someOf(names[:2]); got != "a, a" {
		t.Error(got)
	}
}
