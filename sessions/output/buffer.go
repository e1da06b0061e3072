package output

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"understudy/internal/screen"
)

// buffer keeps the head and the tail of a text of any length, of one stream or of both in
// order of arrival: at most limit bytes of each, cut between characters. The tail is in two
// generations of half of that: when the newer one is full the older one is dropped as a
// whole, so that nothing is ever moved.
type buffer struct {
	limit              int // more than a character
	head, older, newer generation
	dropped            int64 // characters between head and tail
}

// generation is text of both streams in order of arrival.
type generation struct {
	text []byte
	cuts []cut
}

// cut is where a piece of text that came from one stream without a break ends.
type cut struct {
	stream Stream
	end    int
}

// Marker stands where n characters were left out of a text.
func Marker(n int64) string {
	return fmt.Sprintf("\n[%d characters truncated]\n", n)
}

// write appends valid UTF-8.
func (b *buffer) write(stream Stream, p []byte) {
	if room := b.limit - len(b.head.text); room > 0 && len(b.older.text)+len(b.newer.text) == 0 {
		n := wholeCharacters(p[:min(room, len(p))])
		b.head.write(stream, p[:n])
		p = p[n:]
	}
	half := max(b.limit/2, utf8.UTFMax)
	if excess := len(p) - 2*half; excess > 0 { // skip what would be dropped at once
		n := runeStart(p, excess)
		b.turn()
		b.turn()
		b.dropped += countCharacters(p[:n])
		p = p[n:]
	}
	for len(p) > 0 {
		n := wholeCharacters(p[:min(half-len(b.newer.text), len(p))])
		if n == 0 {
			b.turn()
			continue
		}
		b.newer.write(stream, p[:n])
		p = p[n:]
	}
}

// turn drops the older generation and begins a new one.
func (b *buffer) turn() {
	b.dropped += countCharacters(b.older.text)
	b.older, b.newer = b.newer, generation{b.older.text[:0], b.older.cuts[:0]}
}

// text returns head and tail with a Marker between, and how many characters it counts.
func (b *buffer) text() (string, int64) {
	marker := ""
	if b.dropped > 0 {
		marker = Marker(b.dropped)
	}
	return string(b.head.text) + marker + string(b.older.text) + string(b.newer.text), b.dropped
}

// pieces returns what is there, each piece of one stream. What goes on the stream of the piece
// before is one with that, unless something was left out between them.
func (b *buffer) pieces() (all []screen.Piece) {
	gap := int64(0)
	for i, g := range []generation{b.head, b.older, b.newer} {
		if i == 1 {
			gap = b.dropped
		}
		start := 0
		for _, c := range g.cuts {
			text := string(g.text[start:c.end])
			if n := len(all); n > 0 && all[n-1].Stream == int(c.stream) && gap == 0 {
				all[n-1].Text += text
			} else {
				all = append(all, screen.Piece{Stream: int(c.stream), Text: text, Gap: gap})
			}
			start, gap = c.end, 0
		}
	}
	return all
}

// ending returns all of the text if it fits into room, else the last whole lines that do,
// behind a Marker.
func (b *buffer) ending(room int) (marker, text string) {
	parts := [][]byte{b.head.text, b.older.text, b.newer.text}
	left := b.dropped
	for i, p := range slices.Backward(parts) {
		if i == 0 && b.dropped > 0 { // the head is not next to the rest
			room = 0
		}
		start := runeStart(p, max(0, len(p)-room))
		parts[i], room = p[start:], room-len(p[start:])
		left += countCharacters(p[:start])
	}
	all := bytes.Join(parts, nil)
	if left == 0 {
		return "", string(all)
	}
	line := bytes.IndexByte(all, '\n') + 1
	if line == len(all) { // all of it is one line
		line = 0
	}
	return Marker(left + countCharacters(all[:line])), string(all[line:])
}

func (g *generation) write(stream Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	g.text = append(g.text, p...)
	if n := len(g.cuts); n > 0 && g.cuts[n-1].stream == stream {
		g.cuts[n-1].end = len(g.text)
		return
	}
	g.cuts = append(g.cuts, cut{stream, len(g.text)})
}

// interleaved is the text of pieces as it was printed, the streams by turns, with an entry for
// what was left out.
func interleaved(pieces []screen.Piece) (texts []string) {
	stream := -1
	for _, p := range pieces {
		if p.Gap > 0 {
			texts, stream = append(texts, Marker(p.Gap)), -1
		}
		switch text := screen.Unmarked(p.Text); {
		case text == "":
		case p.Stream == stream:
			texts[len(texts)-1] += text
		default:
			texts, stream = append(texts, text), p.Stream
		}
	}
	return texts
}
