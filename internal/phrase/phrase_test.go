package phrase

import (
	"math"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
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
		if got := Duration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 ms", 99 * time.Millisecond: "99 ms", 150 * time.Millisecond: "0.1 s", 9999 * time.Millisecond: "9.9 s",
		12 * time.Second: "12 s", 125 * time.Second: "2 min 05 s", 61 * time.Minute: "1 h 01 min",
	} {
		if got := Short(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 4096: "4 KiB", 10e6: "10 MB", 10e9: "10 GB", 1 << 30: "1.0 GiB",
		1288490188: "1.2 GiB", 512 << 20: "512 MiB", 1500e6: "1500 MB", -1: "0 bytes",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("%d is %q, not %q", bytes, got, want)
		}
	}
}

func TestCountEach(t *testing.T) {
	for want, kinds := range map[string]map[string]int{
		"":                            {"time": 0},
		"1 call (time 1)":             {"time": 1},
		"12 calls (github 10, tim 2)": {"tim": 2, "github": 10},
	} {
		if got := CountEach("call", kinds); got != want {
			t.Errorf("%v: %q, want %q", kinds, got, want)
		}
	}
}
