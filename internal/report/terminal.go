package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"understudy/internal/screen"
)

// isHidden says whether a character does something to those about it instead of being
// seen: it controls a terminal, or has text read in another direction.
func isHidden(char rune) bool {
	control := char < ' ' && char != '\n' && char != '\t' || char >= 0x7f && char < 0xa0
	return control || isDirection(char)
}

func isDirection(char rune) bool {
	return char >= 0x202a && char <= 0x202e || char >= 0x2066 && char <= 0x2069
}

// readable is output as a terminal would have left it: without colours, and of lines
// that were written over the last state.
func readable(text string) string {
	if strings.ContainsFunc(text, isHidden) { // which little output has
		text = strings.Map(func(char rune) rune {
			if isDirection(char) {
				return -1
			}
			return char
		}, screen.Text(text))
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// shownCode is code, or a plan, with what is hidden in it shown as in Python's strings.
func shownCode(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\ufffd")
	if !strings.ContainsFunc(text, isHidden) {
		return text
	}
	var shown strings.Builder
	for _, char := range text {
		if isHidden(char) {
			shown.WriteString(strings.Trim(strconv.QuoteRuneToASCII(char), "'"))
		} else {
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
