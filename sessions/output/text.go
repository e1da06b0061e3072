package output

import (
	"bytes"
	"unicode/utf8"
)

// IsText reports whether the beginning of a file is UTF-8 without NULs.
func IsText(start []byte) bool {
	return utf8.Valid(start[:wholeCharacters(start)]) && bytes.IndexByte(start, 0) < 0
}

// decoder turns bytes into valid UTF-8 as they come: an invalid byte becomes U+FFFD, a
// character split between two writes is kept until it is whole.
type decoder struct {
	pending []byte // the beginning of a character, at most 3 bytes
}

// decode returns the valid text of p; the slice is good until p changes.
func (d *decoder) decode(p []byte) []byte {
	if len(d.pending) > 0 {
		p = append(d.pending, p...)
	}
	n := wholeCharacters(p)
	d.pending = bytes.Clone(p[n:])
	return valid(p[:n])
}

// flush returns what is left at the end of the text.
func (d *decoder) flush() []byte {
	p := d.pending
	d.pending = nil
	return valid(p)
}

// valid returns p with U+FFFD for each invalid byte.
func valid(p []byte) []byte {
	if utf8.Valid(p) {
		return p
	}
	return bytes.Map(func(r rune) rune { return r }, p)
}

// wholeCharacters returns how many bytes of p are left without a character at its end whose
// rest is missing.
func wholeCharacters(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				break
			}
			return len(p) - n
		}
	}
	return len(p)
}

// runeStart returns the first index at or after n where a character starts.
func runeStart(p []byte, n int) int {
	for n < len(p) && !utf8.RuneStart(p[n]) {
		n++
	}
	return n
}

func countCharacters(p []byte) int64 { return int64(utf8.RuneCount(p)) }
