package screen

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// fewRepeats is how often lines may be repeated before that is counted.
	fewRepeats = 2
	// mostTogether is how many lines that are repeated together are found: a library's
	// warning may have ten.
	mostTogether = 12
)

// countRepeats puts a count in the place of what repeats the line above, or the lines,
// where that is shorter.
func countRepeats(text string) string {
	if strings.Count(text, "\n") <= fewRepeats {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	for len(lines) > 0 {
		together, times := 1, 0
		note := ""
		for n := 1; n <= min(mostTogether, len(lines)/2) && note == ""; n++ {
			if times = repeats(lines, n); times > fewRepeats {
				together, note = n, repeatNote(lines[:n], times)
			}
		}
		b.WriteString(strings.Join(lines[:together], ""))
		b.WriteString(note)
		if note != "" {
			together *= times + 1
		}
		lines = lines[together:]
	}
	return b.String()
}

// repeats is how often the first n lines follow once more.
func repeats(lines []string, n int) (times int) {
	for rest := lines[n:]; len(rest) >= n && slices.Equal(lines[:n], rest[:n]); rest = rest[n:] {
		times++
	}
	return times
}

// repeatNote says so, if that is shorter.
func repeatNote(lines []string, times int) string {
	what := "line"
	if len(lines) > 1 {
		what = fmt.Sprintf("%d lines", len(lines))
	}
	note := fmt.Sprintf("[the %s above %d times more]\n", what, times)
	if len(note) >= len(strings.Join(lines, ""))*times {
		return ""
	}
	return note
}
