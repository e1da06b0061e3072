package preview

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// valueKind is what a cell, or most cells of a column, are.
type valueKind int

const (
	isInteger valueKind = iota
	isNumber
	isBoolean
	isDate
	isText
	isNothing // no cell has a value
)

func (k valueKind) String() string {
	return [...]string{"integer", "number", "boolean", "date", "text", "empty"}[k]
}

const (
	mostHashes   = 500_000 // distinct values of all columns that are counted
	mostDistinct = 50_000  // of one column
	mostExamples = 12      // values that are kept to be shown
	mostListed   = 6       // of text, where there are more distinct ones
	mostOdd      = 0.05    // of the cells may be text in a column of numbers
	triesAtDates = 50      // cells without a date, after which no more are looked for
)

// allowance is what the columns of a table share.
type allowance struct{ hashes int }

// column gathers what there is to say of one.
type column struct {
	index   int
	name    string
	missing int
	filled  int
	kinds   [isNothing]int

	least, most  float64
	early, late  time.Time
	dateLayout   string
	dateTries    int
	leadingZeros bool
	comma        int // cells that are numbers with a decimal comma
	thousands    int // cells that are numbers with commas before three digits each

	distinct  map[uint64]struct{}
	uncounted bool // there are more distinct values than were counted
	examples  []string
	odd       string // the first text
	sharing   *allowance
}

func newColumn(index int, sharing *allowance) *column {
	return &column{index: index, distinct: map[uint64]struct{}{}, sharing: sharing}
}

func (c *column) title() string {
	if c.name == "" {
		return fmt.Sprintf("column %d", c.index+1)
	}
	return c.name
}

// missingWords are the cells that pandas reads as missing.
var missingWords = map[string]bool{
	"": true, "#N/A": true, "#N/A N/A": true, "#NA": true, "-1.#IND": true, "-1.#QNAN": true, "-NaN": true, "-nan": true,
	"1.#IND": true, "1.#QNAN": true, "<NA>": true, "N/A": true, "NA": true, "NULL": true, "NaN": true, "None": true,
	"n/a": true, "nan": true, "null": true,
}

// seed is one for the process: only whether hashes are equal counts.
var seed = maphash.MakeSeed()

func (c *column) add(cell []byte) {
	if missingWords[string(cell)] {
		c.missing++
		return
	}
	c.filled++
	value, kind := classify(cell)
	switch kind {
	case isInteger, isNumber:
		if c.kinds[isInteger]+c.kinds[isNumber] == 0 {
			c.least, c.most = value, value
		}
		c.least, c.most = min(c.least, value), max(c.most, value)
		c.leadingZeros = c.leadingZeros || len(cell) > 1 && cell[0] == '0' && isDigit(cell[1])
	case isText:
		if c.takeDate(cell) {
			kind = isDate
		} else {
			if c.odd == "" {
				c.odd = string(cell[:min(len(cell), 4*mostOfCell)])
			}
			if hasDecimalComma(cell) {
				c.comma++
			}
			if thousands.Match(cell[:min(len(cell), 40)]) {
				c.thousands++
			}
		}
	}
	c.kinds[kind]++
	c.countDistinct(cell)
}

func (c *column) countDistinct(cell []byte) {
	if c.uncounted {
		return
	}
	hash := maphash.Bytes(seed, cell)
	if _, seen := c.distinct[hash]; seen {
		return
	}
	if c.sharing.hashes == 0 || len(c.distinct) >= mostDistinct {
		c.uncounted = true
		return
	}
	c.sharing.hashes--
	c.distinct[hash] = struct{}{}
	if len(c.examples) < mostExamples {
		c.examples = append(c.examples, string(cell[:min(len(cell), 4*mostOfCell)]))
	}
}

// classify tells a cell's kind; dates are still text.
func classify(cell []byte) (float64, valueKind) {
	text := strings.TrimSpace(string(cell[:min(len(cell), 400)]))
	if text == "" || len(text) > 300 {
		return 0, isText
	}
	switch text {
	case "true", "false", "True", "False", "TRUE", "FALSE":
		return 0, isBoolean
	}
	whole := true
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
		case (c == '-' || c == '+') && i == 0:
		case c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+':
			whole = false
		default:
			return 0, isText
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, isText
	case whole:
		return v, isInteger
	}
	return v, isNumber
}

// thousands are numbers such as 1,234 and 1,234,567.8.
var thousands = regexp.MustCompile(`^\s*[-+]?\d{1,3}(,\d{3})+(\.\d*)?\s*$`)

func hasDecimalComma(cell []byte) bool {
	before, after, found := strings.Cut(strings.TrimSpace(string(cell[:min(len(cell), 40)])), ",")
	if !found {
		return false
	}
	_, kind := classify([]byte(before + "." + after))
	return kind == isNumber
}

// dateLayouts are those that are recognized, the frequent first. Which of day and
// month comes first where there are strokes is not claimed.
var dateLayouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006/01/02", "2006/01/02 15:04:05", "2006-01", "1/2/2006", "2/1/2006", "1/2/2006 15:04", "2/1/2006 15:04",
	"1/2/2006 15:04:05", "2/1/2006 15:04:05", "2.1.2006", "2.1.2006 15:04", "2.1.2006 15:04:05", "2-Jan-2006", "02-Jan-06", "2 Jan 2006", "Jan 2, 2006", "Jan 2 2006",
}

// takeDate reports whether a cell is a date, and takes it into the range.
func (c *column) takeDate(cell []byte) bool {
	if len(cell) < 6 || len(cell) > 40 || c.kinds[isDate] == 0 && c.dateTries >= triesAtDates {
		return false
	}
	text := strings.TrimSpace(string(cell))
	if c.dateLayout != "" {
		if when, err := time.Parse(c.dateLayout, text); err == nil {
			c.spread(when)
			return true
		}
	}
	if c.kinds[isText] > 20*triesAtDates && c.kinds[isText] > c.kinds[isDate] {
		return false
	}
	for _, layout := range dateLayouts {
		if when, err := time.Parse(layout, text); err == nil {
			c.dateLayout = layout
			c.spread(when)
			return true
		}
	}
	c.dateTries++
	return false
}

func (c *column) spread(when time.Time) {
	if c.early.IsZero() || when.Before(c.early) {
		c.early = when
	}
	if c.late.IsZero() || when.After(c.late) {
		c.late = when
	}
}

// kind is what the column is: that of its cells, or of nearly all of them.
func (c *column) kind() valueKind {
	numbers := c.kinds[isInteger] + c.kinds[isNumber]
	few := float64(c.filled) * mostOdd
	switch {
	case c.filled == 0:
		return isNothing
	case c.kinds[isInteger] == c.filled:
		return isInteger
	case numbers == c.filled, numbers > 0 && float64(c.filled-numbers) <= few:
		if c.kinds[isNumber] == 0 {
			return isInteger
		}
		return isNumber
	case c.kinds[isBoolean] == c.filled:
		return isBoolean
	case c.kinds[isDate] == c.filled, c.kinds[isDate] > 0 && float64(c.filled-c.kinds[isDate]) <= few:
		return isDate
	}
	return isText
}

// describe says what the column holds. Exact is for tables of which all rows were
// looked at.
func (c *column) describe(exact bool) string {
	kind := c.kind()
	facts := []string{kind.String()}
	switch kind {
	case isInteger, isNumber:
		facts[0] += ", " + number(c.least)
		if c.most != c.least {
			facts[0] += " to " + number(c.most)
		}
		if c.leadingZeros {
			facts = append(facts, "some with leading zeros")
		}
		if others := c.filled - c.kinds[isInteger] - c.kinds[isNumber]; others > 0 && c.odd != "" {
			facts = append(facts, fmt.Sprintf("but %s of the cells are text, such as %s", share(others, c.filled), quoted(c.odd)))
		}
	case isDate:
		facts[0] += ", " + c.dateRange()
		if c.odd != "" {
			facts = append(facts, fmt.Sprintf("but %s of the cells are not, such as %s", share(c.filled-c.kinds[isDate], c.filled), quoted(c.odd)))
		}
	case isText:
		switch {
		case c.thousands == c.filled && c.comma < c.filled:
			facts[0] = "number with commas between thousands"
		case c.thousands == c.filled:
			facts[0] = "number with commas, between thousands or decimal"
		case c.comma == c.filled:
			facts[0] = "number with a decimal comma"
		}
	}
	if kind != isNothing {
		facts = append(facts, c.values(kind, exact)...)
	}
	if c.missing > 0 && kind != isNothing {
		words := share(c.missing, c.missing+c.filled) + " missing"
		if exact {
			words = fmt.Sprintf("%d missing (%s)", c.missing, share(c.missing, c.missing+c.filled))
		}
		facts = append(facts, words)
	}
	return strings.Join(facts, ", ")
}

func (c *column) dateRange() string {
	layout := "2006-01-02"
	if strings.Contains(c.dateLayout, "15:04") {
		layout = "2006-01-02 15:04"
	}
	words := c.early.Format(layout)
	if !c.late.Equal(c.early) {
		words += " to " + c.late.Format(layout)
	}
	if strings.ContainsAny(c.dateLayout, "/.") {
		words += " (such as " + quoted(c.examples[0]) + ")"
	}
	return words
}

// values says how many distinct values there are, and some of them.
func (c *column) values(kind valueKind, exact bool) []string {
	n := len(c.distinct)
	switch {
	case c.uncounted:
		if kind != isText {
			return nil
		}
		return []string{"many distinct, such as " + quotedList(c.examples, 3)}
	case kind == isBoolean:
		return []string{distinct(n) + ": " + quotedList(c.examples, 2)}
	case n == 1 && (kind == isInteger || kind == isNumber || kind == isDate): // the range has it
		return nil
	case n == c.filled && c.filled > 1 && exact && c.missing == 0 && kind != isNumber:
		if kind == isText {
			return []string{"all distinct, such as " + quotedList(c.examples, 3)}
		}
		return []string{"all distinct"}
	case kind == isText && n <= mostListed:
		return []string{distinct(n) + ": " + quotedList(c.examples, mostListed)}
	case kind == isText:
		return []string{distinct(n) + ", such as " + quotedList(c.examples, 3)}
	case n <= 20 && kind != isDate:
		return []string{distinct(n)}
	}
	return nil
}

func distinct(n int) string {
	if n == 1 {
		return "a single value"
	}
	return fmt.Sprintf("%d distinct", n)
}

func quotedList(values []string, most int) string {
	words := make([]string, 0, most)
	for _, v := range values[:min(most, len(values))] {
		words = append(words, quoted(strings.ToValidUTF8(v, "\uFFFD")))
	}
	return strings.Join(words, ", ")
}

func hashOf(text string) uint64 { return maphash.String(seed, text) }
