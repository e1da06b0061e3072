package screen

import (
	"fmt"
	"strings"
)

// fewRepeats is how often a line may be repeated before it is counted.
const fewRepeats = 2

// countRepeats puts a count in the place of a line's repetitions, where that is shorter.
func countRepeats(text string) string {
	if !hasRepeat(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		line := firstLine(text)
		n := 1 // of the same lines
		for rest := text[len(line):]; strings.HasSuffix(line, "\n") && strings.HasPrefix(rest, line); rest = rest[len(line):] {
			n++
		}
		b.WriteString(line)
		note := fmt.Sprintf("[the line above %d times more]\n", n-1)
		if n-1 > fewRepeats && len(note) < len(line)*(n-1) {
			b.WriteString(note)
		} else {
			b.WriteString(strings.Repeat(line, n-1))
		}
		text = text[len(line)*n:]
	}
	return b.String()
}

func hasRepeat(text string) bool {
	before := ""
	for len(text) > 0 {
		line := firstLine(text)
		if line == before {
			return true
		}
		before, text = line, text[len(line):]
	}
	return false
}

func firstLine(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}
