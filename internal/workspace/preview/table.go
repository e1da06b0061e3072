package preview

import (
	"errors"
	"fmt"
	"strings"
)

const (
	columnsFirst = 500 // that are looked into, and as many as
	columnsLast  = 100 // of the last ones
	shownFirst   = 40  // columns that are told of, and
	shownLast    = 10
	oddRows      = 3 // of which the numbers are named
)

// table is what is known of columns and rows.
type table struct {
	columns []*column // those that are looked into
	width   int       // all
	rows    int       // that were looked at
	// estimate is how many rows there may be; 0 where the rows are all that there are.
	estimate int64
	atLeast  bool // there are more rows than were counted
	ragged   int  // rows with another number of fields
	header   bool
	notes    []string
	sharing  *allowance
}

// newTable has a column for each of the names.
func newTable(width int) *table {
	t := &table{width: width, sharing: &allowance{hashes: mostHashes}}
	for i := range width {
		if i >= columnsFirst && i < width-columnsLast {
			continue
		}
		t.columns = append(t.columns, newColumn(i, t.sharing))
	}
	return t
}

// name names the columns, from the fields of a header.
func (t *table) name(header []string) {
	t.header = true
	for _, c := range t.columns {
		if c.index < len(header) {
			c.name = named(header[c.index])
		}
	}
}

// add takes a row. Missing fields at its end are missing values, as pandas has it.
func (t *table) add(fields [][]byte, count int) {
	t.rows++
	if count != t.width {
		t.ragged++
	}
	for _, c := range t.columns {
		if c.index < len(fields) {
			c.add(fields[c.index])
		} else {
			c.add(nil)
		}
	}
}

// readTable describes a text with a delimiter.
func readTable(s *source, e *entry) (section, error) {
	sample, err := takeSample(s, e)
	if err != nil {
		return section{}, err
	}
	if isBinary(sample.blocks[0]) {
		return section{}, errors.New("not a text")
	}
	l := sniff(sample.blocks[0], e.name, sample.whole)
	t, err := tabulate(s, sample, l)
	if err != nil {
		return section{}, err
	}
	return t.section(delimited(l, sample)), nil
}

// delimited says how a text is written where that is not a CSV's usual way.
func delimited(l layout, s *sample) string {
	words := map[byte]string{',': "CSV", '\t': "Tab-separated", ';': `CSV with delimiter ";"`, '|': `CSV with delimiter "|"`}[l.delimiter]
	if s.encoding != "" {
		words += ", encoding " + s.encoding
	}
	return words
}

// tabulate reads the records of all blocks.
func tabulate(b interface{ check() error }, s *sample, l layout) (*table, error) {
	r := &recordReader{text: s.blocks[0], delimiter: l.delimiter}
	var first [][]string
	for len(first) <= l.before+1 && r.next() && (r.complete || s.whole) {
		first = append(first, asStrings(r.fields))
	}
	if len(first) <= l.before {
		if strings.TrimSpace(string(s.blocks[0])) == "" {
			return nil, errors.New("only empty lines")
		}
		return nil, fmt.Errorf("not looked into: its first line is longer than %s", bytesInWords(int64(len(s.blocks[0]))))
	}
	head := first[l.before]
	if len(head) == l.fields-1 && len(first) > l.before+1 { // as R writes the names of rows
		head = append([]string{"(row names)"}, head...)
	}
	width := max(l.fields, r.widthOf(s, l))
	t := newTable(width)
	var below []string
	if len(first) > l.before+1 {
		below = first[l.before+1]
	}
	skip := l.before
	if isHeader(head, below) {
		t.name(head)
		skip++
	}
	if l.before > 0 {
		t.notes = append(t.notes, fmt.Sprintf("the first %s of the file %s not of the table", count(int64(l.before), "line"), isOrAre(l.before)))
	}
	if err := t.fill(b, s, l, skip); err != nil {
		return nil, err
	}
	return t, nil
}

// widthOf is how many fields the header has: those beyond mostFields are counted too.
func (r *recordReader) widthOf(s *sample, l layout) int {
	again := recordReader{text: s.blocks[0], delimiter: l.delimiter}
	for range l.before + 1 {
		again.next()
	}
	return again.count
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func asStrings(fields [][]byte) []string {
	all := make([]string, len(fields))
	for i, field := range fields {
		all[i] = strings.ToValidUTF8(string(field), "\uFFFD")
	}
	return all
}

// fill adds the rows of all blocks, the first without the records to be skipped, and
// estimates how many rows there are.
func (t *table) fill(b interface{ check() error }, s *sample, l layout, skip int) error {
	used, records := 0, 0
	for i, block := range s.blocks {
		if err := b.check(); errors.Is(err, errTime) {
			return err
		}
		if i > 0 {
			block = align(block, l.delimiter, t.width)
		}
		r := recordReader{text: block, delimiter: l.delimiter}
		for r.next() && (r.complete || s.whole) {
			used += r.at - r.start
			records++
			if i == 0 && records <= skip {
				continue
			}
			t.add(r.fields, r.count)
			if t.rows%4096 == 0 && errors.Is(b.check(), errTime) {
				return errTime
			}
		}
		if s.whole && r.open {
			t.notes = append(t.notes, "a quote in the last row is not closed")
		}
	}
	if !s.whole && records > 0 {
		perRecord := float64(used) * s.wide / float64(records)
		t.estimate = about(s.size/perRecord - float64(skip))
	}
	return nil
}

// isHeader guesses whether a row has names. Numbers are none, but for years and the
// like in the row of a table whose first cell is a word.
func isHeader(row, below []string) bool {
	seen := map[string]bool{}
	numbers, words := 0, 0
	var previous float64
	for i, cell := range row {
		cell = strings.TrimSpace(cell)
		v, kind := classify([]byte(cell))
		switch {
		case cell == "":
			continue
		case kind == isText:
			words++
		case kind == isInteger && (numbers == 0 || v == previous+1) && i > 0:
			numbers++
			previous = v
		default:
			return false
		}
		if seen[cell] && len(row) < 50 && !unlike(row, below) {
			return false
		}
		seen[cell] = true
	}
	if numbers > 0 {
		return words > 0 && numbers > 2
	}
	return words > 0 && (len(below) > 0 || words == len(row))
}

// unlike reports whether the row below has a number where this one has a word: then a
// word that is there twice may be the name of two columns.
func unlike(row, below []string) bool {
	for i := range min(len(row), len(below)) {
		_, above := classify([]byte(row[i]))
		_, kind := classify([]byte(below[i]))
		if above == isText && strings.TrimSpace(row[i]) != "" && (kind == isInteger || kind == isNumber) {
			return true
		}
	}
	return false
}

// shape is rows and columns in words.
func (t *table) shape() string {
	rows := count(int64(t.rows), "row")
	switch {
	case t.estimate > 0:
		rows = "about " + count(t.estimate, "row") + ", from a sample of " + count(int64(t.rows), "row")
		return rows + "; " + count(int64(t.width), "column")
	case t.atLeast:
		rows = "more than " + rows
	}
	return rows + " × " + count(int64(t.width), "column")
}

func (t *table) section(kind string) section {
	head := kind + ": " + t.shape()
	if !t.header {
		head += "; no header"
	}
	if t.ragged > 0 {
		rows := share(t.ragged, t.rows) + " of the rows have"
		if t.estimate == 0 {
			rows = count(int64(t.ragged), "row") + map[bool]string{true: " has", false: " have"}[t.ragged == 1]
		}
		head += "; " + rows + " another number of fields"
	}
	for _, note := range t.notes {
		head += "; " + note
	}
	names := t.listed(func(c *column) string { return c.title() })
	s := section{head: head, full: t.listed(func(c *column) string { return "- " + c.title() + ": " + c.describe(t.estimate == 0 && !t.atLeast) })}
	s.simple = "Columns: " + strings.Join(names, ", ")
	var form strings.Builder
	for _, c := range t.columns {
		fmt.Fprintf(&form, "%s\x00%d\x00", c.title(), c.kind())
	}
	if t.header {
		s.form = fmt.Sprint(t.width, "\x00", form.String())
	}
	return s
}

// listed writes the first and the last columns, with a word on those between.
func (t *table) listed(write func(*column) string) []string {
	var lines []string
	n := len(t.columns)
	left := t.width - shownFirst - shownLast
	for i, c := range t.columns {
		switch {
		case left <= 5 || i < shownFirst || i >= n-shownLast:
			lines = append(lines, write(c))
		case i == shownFirst:
			lines = append(lines, fmt.Sprintf("… %s between them (%s)", count(int64(left), "column"), t.between()))
		}
	}
	return lines
}

// between counts the types of the columns that are not told of.
func (t *table) between() string {
	counts := map[valueKind]int{}
	for _, c := range t.columns[shownFirst : len(t.columns)-shownLast] {
		counts[c.kind()]++
	}
	var words []string
	for kind := isInteger; kind <= isNothing; kind++ {
		if counts[kind] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[kind], kind))
		}
	}
	if unseen := t.width - len(t.columns); unseen > 0 {
		words = append(words, fmt.Sprintf("%d not looked into", unseen))
	}
	return strings.Join(words, ", ")
}
