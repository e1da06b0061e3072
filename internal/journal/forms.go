package journal

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// shortestSecret is how many characters a value has at least that is masked: shorter
// ones are in half of all words.
const shortestSecret = 4

// shortestLine is the same for a line of a value that has several. Lines are shown
// alone, as in tracebacks.
const shortestLine = 16

// variants returns a value as programs take it: as it is, without the white space
// around it, with other ends of lines, and its long lines.
func variants(secret string) []string {
	unix := strings.ReplaceAll(secret, "\r\n", "\n")
	all := []string{secret, strings.TrimSpace(secret), unix, strings.ReplaceAll(unix, "\n", "\r\n")}
	all = slices.DeleteFunc(all, func(v string) bool { return utf8.RuneCountInString(v) < shortestSecret })
	if strings.Contains(unix, "\n") {
		for line := range strings.Lines(unix) {
			if line = strings.TrimSpace(line); utf8.RuneCountInString(line) >= shortestLine {
				all = append(all, line)
			}
		}
	}
	return all
}

// written returns the forms that a value has in texts: plain, in JSON, and in what
// Python's repr makes of a str, of bytes, and as ascii() does.
func written(value string) []string {
	forms := append(jsonForms(value), value)
	latin := make([]rune, len(value)) // the bytes of its UTF-8, a character each
	for i, c := range []byte(value) {
		latin[i] = rune(c)
	}
	for _, quote := range []rune{'\'', '"', noQuote} {
		forms = append(forms, repr(value, quote, unicode.IsPrint), repr(value, quote, isPlainASCII), repr(string(latin), quote, isPlainASCII))
	}
	return forms
}

// noQuote is where there is none to escape.
const noQuote rune = -1

func isPlainASCII(r rune) bool { return ' ' <= r && r <= '~' }

// repr is how Python writes a str between quotes, with numbers for what is not plain.
func repr(text string, quote rune, plain func(rune) bool) string {
	return escape(text, quote, "\\nrt", plain, func(r rune) string {
		switch {
		case r <= 0xff:
			return fmt.Sprintf(`\x%02x`, r)
		case r <= 0xffff:
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}

// jsonForms returns a text as encoders write it between the quotes of JSON: Python's,
// Go's with and without care for HTML and for the ends of lines that JavaScript knows,
// and those that escape the slash.
func jsonForms(text string) []string {
	all := []string{asciiJSON(text)}
	for _, numbers := range []string{"<>&\u2028\u2029", "<>&", "\u2028\u2029", ""} {
		all = append(all, inJSON(text, func(r rune) bool { return r >= ' ' && !strings.ContainsRune(numbers, r) }))
	}
	return append(all, strings.ReplaceAll(all[3], "/", `\/`), strings.ReplaceAll(all[4], "/", `\/`))
}

// asciiJSON is how Python writes a text in JSON unless it is told otherwise.
func asciiJSON(text string) string { return inJSON(text, isPlainASCII) }

func inJSON(text string, plain func(rune) bool) string {
	return escape(text, '"', "\\nrtbf", plain, func(r rune) string {
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// letters stand behind a backslash for characters.
var letters = map[rune]string{'\\': `\`, '\n': "n", '\r': "r", '\t': "t", '\b': "b", '\f': "f"}

// escape writes a text with backslashes: the quote, what has one of these letters, and
// what is not plain, as a number.
func escape(text string, quote rune, short string, plain func(rune) bool, number func(rune) string) string {
	var b strings.Builder
	for _, r := range text {
		letter, known := letters[r]
		switch {
		case r == quote:
			b.WriteString(`\` + string(r))
		case known && strings.Contains(short, letter):
			b.WriteString(`\` + letter)
		case plain(r):
			b.WriteRune(r)
		default:
			b.WriteString(number(r))
		}
	}
	return b.String()
}
