package sessions

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// InWords writes a time in words, as "3 milliseconds", "1.5 seconds" or
// "1 minute 5 seconds": two units at most, no more digits than a reader needs.
func InWords(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 seconds"
	case d < time.Millisecond:
		return "less than 1 millisecond"
	case d.Round(time.Millisecond) < time.Second:
		return Counted(int(d.Round(time.Millisecond)/time.Millisecond), "millisecond")
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
		text := Counted(int(rounded/unit.size), unit.name)
		if rest := rounded % unit.size / smaller.size; rest > 0 {
			text += " " + Counted(int(rest), smaller.name)
		}
		return text
	}
	return Counted(int(d.Round(time.Second)/time.Second), "second")
}

// Counted writes a number of things, as "1 call" or "2 calls".
func Counted(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(n == 1, noun))
}

// be is the verb for a number of things.
func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
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

// someOf lists at most five names.
func someOf(names []string) string {
	const most = 5
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
