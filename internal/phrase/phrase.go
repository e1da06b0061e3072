// Package phrase writes times, sizes and numbers of things as an agent and a person read them,
// with no more digits than they need.
package phrase

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration writes a time in words, as "3 milliseconds", "1.5 seconds" or
// "1 minute 5 seconds": two units at most.
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 seconds"
	case d < time.Millisecond:
		return "less than 1 millisecond"
	case d.Round(time.Millisecond) < time.Second:
		return Count(int(d.Round(time.Millisecond)/time.Millisecond), "millisecond")
	case d < 9950*time.Millisecond: // what does not round to 10.0
		tenths := math.Round(d.Seconds()*10) / 10
		return strconv.FormatFloat(tenths, 'f', -1, 64) + " " + plural(tenths == 1, "second")
	default:
		return longDuration(d)
	}
}

// longDuration writes ten seconds and more as the two largest units.
func longDuration(d time.Duration) string {
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}}
	for i, unit := range units[:len(units)-1] {
		smaller := units[i+1]
		rounded := d.Round(smaller.size)
		if rounded < unit.size {
			continue
		}
		text := Count(int(rounded/unit.size), unit.name)
		if rest := rounded % unit.size / smaller.size; rest > 0 {
			text += " " + Count(int(rest), smaller.name)
		}
		return text
	}
	return Count(int(d.Round(time.Second)/time.Second), "second")
}

// Short writes a time in few characters, as "12 ms", "3.2 s" or "6 min 05 s".
func Short(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 100*time.Millisecond:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Floor(d.Seconds()*10)/10, 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Count writes a number of things, as "1 call" or "2 calls".
func Count(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(n == 1, noun))
}

// CountEach writes a number of things with their kinds, as "12 calls (github 10, time 2)"; ""
// for none.
func CountEach(noun string, kinds map[string]int) string {
	total := 0
	var each []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		total += kinds[kind]
		each = append(each, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", Count(total, noun), strings.Join(each, ", "))
}

func plural(one bool, noun string) string {
	switch {
	case one:
		return noun
	case strings.HasSuffix(noun, "s"):
		return noun + "es"
	default:
		return noun + "s"
	}
}

// Size writes a number of bytes as "10 MB", which is what a reader has written
// in a setting, or as "1.2 GiB".
func Size(bytes int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}} {
		if bytes >= unit.size && bytes%unit.size == 0 {
			return fmt.Sprintf("%d %s", bytes/unit.size, unit.name)
		}
	}
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", max(bytes, 0))
}
