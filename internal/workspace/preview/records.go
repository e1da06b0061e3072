package preview

import "bytes"

// mostFields is how many fields of a record are kept; the rest is counted.
const mostFields = 120_000

// recordReader takes text apart into records and fields, as RFC 4180 has it and
// spreadsheets write it: a field may be quoted, quotes in it are doubled, and lines
// end in LF, CR LF or CR. What the RFC does not allow is read as it stands.
type recordReader struct {
	text      []byte
	delimiter byte
	at        int
	fields    [][]byte // of the last record; their bytes may be overwritten by the next
	count     int      // how many fields it had
	start     int      // where it began
	scratch   []byte
	open      bool // the text ended within quotes
	complete  bool // the record has its end of line
}

// next reads the record that begins here. Empty lines are passed over.
func (r *recordReader) next() bool {
	for {
		if r.at >= len(r.text) {
			return false
		}
		r.start, r.count, r.complete = r.at, 0, false
		r.fields, r.scratch = r.fields[:0], r.scratch[:0]
		for r.field() {
		}
		if r.count > 1 || len(r.fields[0]) > 0 || r.open {
			return true
		}
	}
}

// field reads a field and reports whether there is another one in the record.
func (r *recordReader) field() bool {
	if r.at < len(r.text) && r.text[r.at] == '"' {
		return r.quotedField()
	}
	begin := r.at
	for r.at < len(r.text) {
		c := r.text[r.at]
		if c == r.delimiter || c == '\n' || c == '\r' {
			break
		}
		r.at++
	}
	r.keep(r.text[begin:r.at])
	return r.goOn()
}

func (r *recordReader) quotedField() bool {
	begin := len(r.scratch)
	r.at++
	for {
		i := bytes.IndexByte(r.text[r.at:], '"')
		if i < 0 {
			r.scratch = append(r.scratch, r.text[r.at:]...)
			r.at, r.open = len(r.text), true
			r.keep(r.scratch[begin:])
			return false
		}
		r.scratch = append(r.scratch, r.text[r.at:r.at+i]...)
		r.at += i + 1
		if r.at < len(r.text) && r.text[r.at] == '"' {
			r.scratch = append(r.scratch, '"')
			r.at++
			continue
		}
		break
	}
	for r.at < len(r.text) { // what stands behind the closing quote
		c := r.text[r.at]
		if c == r.delimiter || c == '\n' || c == '\r' {
			break
		}
		r.scratch = append(r.scratch, c)
		r.at++
	}
	r.keep(r.scratch[begin:len(r.scratch):len(r.scratch)])
	return r.goOn()
}

func (r *recordReader) keep(field []byte) {
	r.count++
	if len(r.fields) < mostFields {
		r.fields = append(r.fields, field)
	}
}

// goOn passes the delimiter or the end of the line.
func (r *recordReader) goOn() bool {
	if r.at >= len(r.text) {
		return false
	}
	c := r.text[r.at]
	r.at++
	if c == r.delimiter {
		return true
	}
	r.complete = true
	if c == '\r' && r.at < len(r.text) && r.text[r.at] == '\n' {
		r.at++
	}
	return false
}

// align finds where the first whole record of a block begins that was cut out of
// a text anywhere. Whether that is within quotes, or between two quotes that stand for
// one, can't be seen from there: everything is tried, and what leaves the smallest share
// outside of records with the wanted number of fields is taken.
func align(block []byte, delimiter byte, fields int) []byte {
	if bytes.IndexByte(block, '"') < 0 {
		return afterLine(block)
	}
	var best []byte
	most := -1.0
	for _, rest := range [][]byte{block, afterQuote(block), afterQuote(block[1:])} {
		r := recordReader{text: rest, delimiter: delimiter}
		if !r.next() || !r.complete {
			continue
		}
		if n := fitting(rest[r.at:], delimiter, fields); n > most {
			best, most = rest[r.at:], n
		}
	}
	return best
}

// afterQuote is what follows the end of a quoted field in which a text begins.
func afterQuote(text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return nil
		}
		text = text[i+1:]
		if len(text) == 0 || text[0] != '"' {
			return text
		}
		text = text[1:]
	}
}

// afterLine is what follows the first end of a line.
func afterLine(text []byte) []byte {
	i := bytes.IndexAny(text, "\r\n")
	if i < 0 {
		return nil
	}
	if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
		i++
	}
	return text[i+1:]
}

// fitting is which share of a text is in records of so many fields.
func fitting(text []byte, delimiter byte, fields int) float64 {
	r := recordReader{text: text, delimiter: delimiter}
	n := 0
	for r.next() && r.complete {
		if r.count == fields {
			n += r.at - r.start
		}
	}
	return float64(n) / float64(max(1, len(text)))
}
