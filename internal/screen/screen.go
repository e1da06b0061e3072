// Package screen turns bytes that a program printed into the text that a notebook or a
// terminal would show in the end: without colours, of a line that was written over the
// last state, and with what the program took away or replaced gone.
package screen

import "strings"

// Piece is text that came from one stream without a break.
type Piece struct {
	Stream int
	Text   string
	Gap    int64 // how many characters were left out before it
}

// Show returns what is to be seen of the pieces, in order; two neighbours are of
// different streams, or something was left out between them.
func Show(pieces []Piece) []Piece {
	c := canvas{work: mostBlanked}
	for _, p := range resolve(pieces) {
		c.draw(p)
	}
	return c.shown()
}

// Text is what is to be seen of text of one stream.
func Text(text string) string {
	var all strings.Builder
	for _, p := range Show([]Piece{{Text: text}}) {
		all.WriteString(p.Text)
	}
	return all.String()
}

// canvas is what has been drawn.
type canvas struct {
	areas []*area
	last  map[int]*area // of each stream
	work  int           // see mostBlanked
}

// area is what one stream drew without a break. A cursor stays in its area.
type area struct {
	Piece
	grid *grid // nil: the text is plain
}

func (c *canvas) draw(p Piece) {
	p.Text = withoutStyles(p.Text)
	a := &area{Piece: p}
	if before := c.last[p.Stream]; before != nil && before.grid != nil && p.Gap == 0 {
		a.grid = before.grid.handOver()
	}
	if a.grid == nil && strings.ContainsFunc(p.Text, isControl) {
		a.grid = &grid{rows: []*row{{}}, work: &c.work}
	}
	if a.grid != nil {
		a.grid.draw(p.Text)
	}
	c.areas = append(c.areas, a)
	if c.last == nil {
		c.last = map[int]*area{}
	}
	c.last[p.Stream] = a
}

func (c *canvas) shown() (all []Piece) {
	var parts []string // of the last piece
	end := func() {
		if n := len(all); n > 0 {
			all[n-1].Text = countRepeats(strings.Join(parts, ""))
		}
		parts = nil
	}
	for _, a := range c.areas {
		text := a.Text
		if a.grid != nil {
			text = a.grid.text()
		}
		if text == "" && a.Gap == 0 {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Stream != a.Stream || a.Gap > 0 {
			end()
			all = append(all, Piece{Stream: a.Stream, Gap: a.Gap})
		}
		parts = append(parts, text)
	}
	end()
	return all
}

// withoutStyles takes colours out. What is plain but for them needs no grid.
func withoutStyles(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return text
	}
	var b strings.Builder
	for {
		start := strings.Index(text, "\x1b[")
		if start < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := start + 2
		for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == ';' || text[end] == ':') {
			end++
		}
		if end < len(text) && text[end] == 'm' {
			b.WriteString(text[:start])
			end++
		} else {
			b.WriteString(text[:end])
		}
		text = text[end:]
	}
}

// isControl reports whether a character does something instead of being seen.
func isControl(c rune) bool {
	return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0
}
