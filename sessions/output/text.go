package output

import (
	"bytes"
	"unicode/utf8"
)

// IsText reports whether the beginning of a file is UTF-8 without NULs.
func IsText(start []byte) bool {
	return utf8.Valid(start[:wholeCharacters(start)]) && bytes.IndexByte(start, 0) < 0
}

// decoder turns bytes into valid UTF-8 as they come: an invalid byte becomes
// U+FFFD, a character split between two writes is kept until it is whole.
type decoder struct {
	pending []byte // the beginning of a character, at most 3 bytes
	scratch []byte
}

// decode returns the valid text of p; the slice is good until the next call.
func (d *decoder) decode(p []byte) []byte {
	if len(d.pending) > 0 {
		p = append(d.pending, p...)
		d.pending = nil
	}
	if n := incomplete(p); n > 0 {
		d.pending = append([]byte(nil), p[len(p)-n:]...)
		p = p[:len(p)-n]
	}
	if utf8.Valid(p) {
		return p
	}
	return d.replace(p)
}

// flush returns what is left at the end of the text.
func (d *decoder) flush() []byte {
	p := d.pending
	d.pending = nil
	return d.replace(p)
}

func (d *decoder) replace(p []byte) []byte {
	d.scratch = d.scratch[:0]
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		d.scratch = utf8.AppendRune(d.scratch, r) // RuneError encodes as U+FFFD
		p = p[n:]
	}
	return d.scratch
}

// incomplete returns how many bytes at the end of p begin a character whose
// rest is still missing.
func incomplete(p []byte) int {
	for n := 1; n <= utf8.UTFMax-1 && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
