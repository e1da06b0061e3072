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
	var c canvas
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
		a.grid = &grid{rows: []*row{{}}}
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
	for _, a := range c.areas {
		p := a.Piece
		if a.grid != nil {
			p.Text = a.grid.text()
		}
		switch n := len(all); {
		case p.Text == "" && p.Gap == 0:
		case n > 0 && all[n-1].Stream == p.Stream && p.Gap == 0:
			all[n-1].Text += p.Text
		default:
			all = append(all, p)
		}
	}
	for i := range all {
		all[i].Text = countRepeats(all[i].Text)
	}
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
