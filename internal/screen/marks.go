package screen

import (
	"bytes"
	"regexp"
	"strings"
)

// A mark in the output says what display() and clear_output() do to it; see
// pyworker/display/publisher.py, which writes them.
const (
	markStart   = "\x1b]5379;"
	longestMark = 100 // bytes
)

var (
	marks = regexp.MustCompile(`\x1b\]5379;(clear|clear-wait|end|(?:display|update);([A-Za-z0-9_-]{1,64}))\x07`)
	// firstMark is one at the beginning of a text.
	firstMark = regexp.MustCompile("^" + marks.String())
	// cutMark is the end of a mark whose beginning was left out.
	cutMark = regexp.MustCompile(`^\]?5?3?7?9?;?(?:[a-z-]*;)?[A-Za-z0-9_-]*\x07`)
)

// Unmarked returns text without the marks in it.
func Unmarked(text string) string {
	if !strings.Contains(text, markStart) {
		return text
	}
	return marks.ReplaceAllString(text, "")
}

// Splitter tells text and marks apart as bytes of one stream come in.
type Splitter struct {
	held []byte // what may become a mark
}

// Split calls take with text and with marks, in order. What may become a mark with the
// next bytes is kept until they come.
func (s *Splitter) Split(p []byte, take func(p []byte, mark bool)) {
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	for len(p) > 0 {
		start := beginning(p)
		if start > 0 {
			take(p[:start], false)
			p = p[start:]
			continue
		}
		found := firstMark.FindIndex(p[:min(len(p), longestMark)])
		switch {
		case found != nil:
			take(p[:found[1]], true)
			p = p[found[1]:]
		case len(p) < longestMark && bytes.IndexByte(p, '\x07') < 0:
			s.held = append([]byte(nil), p...)
			return
		default:
			take(p[:1], false)
			p = p[1:]
		}
	}
}

// Flush returns what was kept, at the end of the text.
func (s *Splitter) Flush() []byte {
	p := s.held
	s.held = nil
	return p
}

// beginning is where p has a mark, or what may be the beginning of one at its end; len(p)
// if nowhere.
func beginning(p []byte) int {
	if i := bytes.Index(p, []byte(markStart)); i >= 0 {
		return i
	}
	for n := min(len(markStart)-1, len(p)); n > 0; n-- {
		if bytes.HasSuffix(p, []byte(markStart[:n])) {
			return len(p) - n
		}
	}
	return len(p)
}
