package preview

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

const (
	mostOfCell = 60 // characters of a cell or a key
	mostOfName = 80 // characters of a file's name
)

// clean makes one line of at most so many characters of a text that a file or its
// name holds: what has no picture is left out, and what would end the line is a
// blank.
func clean(text string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			r = ' '
		case unicode.Is(unicode.C, r) && r != utf8.RuneError: // control, format (which can turn a line's direction), private
			continue
		}
		if n == most {
			return b.String() + "…"
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// quoted is a cell as a reader sees it.
func quoted(text string) string {
	return `"` + strings.ReplaceAll(clean(text, mostOfCell), `"`, `\"`) + `"`
}

// named is the name of a column or a key as a reader sees it.
func named(name string) string {
	if name = clean(name, mostOfCell); strings.TrimSpace(name) == "" {
		return `""`
	}
	return codeSpan(name)
}

// count is a number with a noun, as "1 row" or "1,460 rows".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(n) + " " + noun + "s"
}

func bytesInWords(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// about rounds an estimate to two digits.
func about(n float64) int64 {
	if n < 100 || math.IsNaN(n) || n > 1e18 {
		return int64(max(0, min(n, 1e18)))
	}
	unit := math.Pow(10, math.Floor(math.Log10(n))-1)
	return int64(math.Round(n/unit) * unit)
}

// number is a value to six digits, whole numbers in full.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) <= 1<<53 { // beyond that it may be rounded already
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// share is a part of a whole in percent. Only all is 100%, and only nothing is 0%.
func share(part, whole int) string {
	percent := 100 * float64(part) / float64(max(1, whole))
	switch {
	case part == 0 || part == whole:
		return fmt.Sprintf("%.0f%%", percent)
	case percent < 0.1:
		return "less than 0.1%"
	case percent > 99.9:
		return "more than 99.9%"
	case percent < 10 || percent > 90:
		return strings.Replace(fmt.Sprintf("%.1f%%", percent), ".0%", "%", 1)
	}
	return fmt.Sprintf("%.0f%%", percent)
}
