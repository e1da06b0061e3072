package live

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	tabWidth = 4
	// mostMarks bounds the combining marks on one character: without a bound a short
	// line could hold megabytes.
	mostMarks = 8

	escape      = '\x1b'
	escapeBound = 4096 // a sequence that goes on for longer is not one
)

// clean makes text that a program printed, or a model wrote, safe for a terminal: no
// escape sequences, no control characters but line ends, no characters that turn the
// direction of writing. What a carriage return or a backspace goes back over is left
// out if something is written after it; a terminal would leave as much of it as the
// new text is shorter.
func clean(text string) string {
	out := make([]byte, 0, len(text))
	line, column, marks := 0, 0, 0 // line is where the line begins in out
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		rest := text[i+size:]
		switch {
		case r == escape:
			size += sequence(rest)
		case r == '\n':
			out = append(out, '\n')
			line, column = len(out), 0
		case r == '\t':
			n := tabWidth - column%tabWidth
			out = append(out, "    "[:n]...)
			column += n
		case r == '\r':
			after := strings.TrimLeft(rest, "\r")
			size += len(rest) - len(after)
			if after != "" && after[0] != '\n' { // else nothing is written over the line
				out, column = out[:line], 0
			}
		case r == '\b':
			after := strings.TrimLeft(rest, "\b")
			back := 1 + len(rest) - len(after)
			size = back
			if after != "" && after[0] != '\n' {
				var erased int
				out, erased = erase(out, line, back)
				column -= erased
				marks = mostMarks // of the character that is the last one now
			}
		case shown(r):
			if unicode.Is(unicode.M, r) {
				marks++
			} else {
				marks = 0
			}
			if marks <= mostMarks {
				out = utf8.AppendRune(out, r)
				column++
			}
		}
		i += size
	}
	return string(out)
}

// erase removes the last characters of a line that begins at an index, with the marks
// on them. It returns how many runes these were.
func erase(out []byte, line, characters int) (rest []byte, erased int) {
	for characters > 0 && len(out) > line {
		r, size := utf8.DecodeLastRune(out)
		out = out[:len(out)-size]
		erased++
		if !unicode.Is(unicode.M, r) {
			characters--
		}
	}
	return out, erased
}

// shown reports whether a character takes part in what a reader sees. Format
// characters do not: among them are those that reverse the direction. Nor do those
// that join and vary emoji: terminals do not agree on how wide these become, and the
// columns right of them would shift.
func shown(r rune) bool {
	switch {
	case r == '\u2028', r == '\u2029', r >= '\ufe00' && r <= '\ufe0f':
		return false
	}
	return unicode.IsGraphic(r)
}

// sequence returns the length of the escape sequence that text continues.
func sequence(text string) int {
	if text == "" {
		return 0
	}
	switch text[0] {
	case '[':
		return 1 + control(text[1:])
	case ']', 'P', 'X', '^', '_':
		return 1 + command(text[1:])
	case '(', ')', '*', '+', '#', '%', ' ':
		return min(2, len(text))
	}
	if text[0] >= '0' && text[0] <= '~' {
		return 1
	}
	return 0
}

// control returns the length of a control sequence: parameters and a final byte.
func control(text string) int {
	for i := range min(len(text), escapeBound) {
		switch c := text[i]; {
		case c >= '@' && c <= '~':
			return i + 1
		case c < ' ' || c > '~':
			return i
		}
	}
	return 0
}

// command returns the length of a string for the terminal: a title, a link, a
// picture. One without an end does not swallow what follows.
func command(text string) int {
	for i := range min(len(text), escapeBound) {
		switch {
		case text[i] == '\a':
			return i + 1
		case text[i] == escape && i+1 < len(text) && text[i+1] == '\\':
			return i + 2
		case text[i] == '\n' || text[i] == escape:
			return 0
		}
	}
	return 0
}

// firstLine returns the first line of text that says something, clean.
func firstLine(text string) string {
	for line := range strings.Lines(clean(text)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
