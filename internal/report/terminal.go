package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"understudy/internal/screen"
)

// directions have text read in another direction.
var directions = regexp.MustCompile(`[\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

func isControl(char rune) bool {
	return char < ' ' && char != '\n' && char != '\t' || char == 0x7f
}

// readable is output as a terminal would have left it: without colours, and of lines
// that were written over the last state.
func readable(text string) string {
	if !strings.ContainsFunc(text, isHidden) {
		return strings.ToValidUTF8(text, "\ufffd") // most output, for which the expressions are slow
	}
	return strings.ToValidUTF8(directions.ReplaceAllString(screen.Text(text), ""), "\ufffd")
}

// isHidden says whether a character does something to those about it instead of being
// seen: it controls a terminal, or has text read in another direction.
func isHidden(char rune) bool {
	return isControl(char) || char >= 0x80 && char < 0xa0 || char >= 0x202a && char <= 0x202e || char >= 0x2066 && char <= 0x2069
}

// shownCode is code, or a plan, with what is hidden in it shown as in Python's strings.
func shownCode(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.ContainsFunc(text, isHidden) {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	var shown strings.Builder
	for _, char := range text {
		switch {
		case isHidden(char) && char < 0x100:
			fmt.Fprintf(&shown, `\x%02x`, char)
		case isHidden(char):
			fmt.Fprintf(&shown, `\u%04x`, char)
		default:
			shown.WriteRune(char)
		}
	}
	return shown.String()
}

// shorten leaves out the middle of a text that is longer than limit bytes.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d characters left out …\n%s", text[:head], utf8.RuneCountInString(text[head:tail]), text[tail:])
}
