package preview

import "strings"

const sniffed = 200 // records

// layout is how the records of a text are written.
type layout struct {
	delimiter byte
	fields    int // in most records
	before    int // lines before the table
	fit       float64
}

// delimiters in the order in which they are tried: the first that fits best wins.
var delimiters = []byte{',', '\t', ';', '|'}

// sniff finds the delimiter with which the first records have the same number of
// fields, more than one.
func sniff(head []byte, name string, whole bool) layout {
	best := layout{delimiter: ',', fields: 1}
	if strings.Contains(strings.ToLower(name), ".tsv") {
		best.delimiter = '\t'
	}
	for _, delimiter := range delimiters {
		if l := fit(head, delimiter, whole); l.fields > 1 && l.fit > best.fit {
			best = l
		}
	}
	return best
}

// fit says how well a delimiter explains the first records.
func fit(head []byte, delimiter byte, whole bool) layout {
	var counts []int
	r := recordReader{text: head, delimiter: delimiter}
	for len(counts) < sniffed && r.next() {
		if !r.complete && !whole && len(counts) > 0 {
			break
		}
		counts = append(counts, r.count)
	}
	l := layout{delimiter: delimiter, fields: 1}
	if len(counts) == 0 {
		return l
	}
	seen := map[int]int{}
	for _, n := range counts {
		seen[n]++
	}
	for _, n := range counts {
		if n > 1 && (l.fields == 1 || seen[n] > seen[l.fields] || seen[n] == seen[l.fields] && n > l.fields) {
			l.fields = n
		}
	}
	for l.before < min(20, len(counts)-1) && counts[l.before] < l.fields-1 {
		l.before++
	}
	rest := counts[l.before:]
	same := 0
	for _, n := range rest {
		if n == l.fields {
			same++
		}
	}
	l.fit = float64(same) / float64(len(counts))
	if rest[0] != l.fields && rest[0] != l.fields-1 {
		l.fit /= 2
	}
	return l
}
