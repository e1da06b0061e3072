package output

import (
	"bytes"
	"slices"

	"understudy/internal/screen"
)

// termText is both streams in order of arrival, bounded like a clip: head and
// tail of limit bytes each.
type termText struct {
	limit int
	head  generation
	tail  tail
	last  []byte // the end of the text, for lastLine, kept across takes
}

// lastSize is how many bytes of the end are kept for the progress line.
const lastSize = 1 << 10

func (t *termText) write(stream Stream, p []byte) {
	t.remember(p)
	if room := t.limit - len(t.head.text); room > 0 && t.tail.size() == 0 {
		if n := charactersIn(p, room); n > 0 {
			t.head.write(stream, p[:n])
			p = p[n:]
		}
	}
	t.tail.write(stream, p, t.limit)
}

func (t *termText) remember(p []byte) {
	if len(p) > lastSize {
		p = p[len(p)-lastSize:]
	}
	t.last = append(t.last, p...)
	if excess := len(t.last) - lastSize; excess > 0 {
		t.last = append(t.last[:0], t.last[excess:]...)
	}
}

// end returns at most n bytes of the end of the text, from a character on.
func (t *termText) end(n int) string {
	from := runeStart(t.last, max(0, len(t.last)-n))
	return string(t.last[from:])
}

// ending returns what was printed since the last take: all of it if it fits into room,
// else the last whole lines that do, behind a Marker.
func (t *termText) ending(room int) (marker, text string) {
	parts := [][]byte{t.head.text, t.tail.older.text, t.tail.newer.text}
	left := t.tail.dropped
	for i, p := range slices.Backward(parts) {
		if i == 0 && t.tail.dropped > 0 { // the head is not next to the rest
			room = 0
		}
		cut := runeStart(p, max(0, len(p)-room))
		parts[i], room = p[cut:], room-len(p[cut:])
		left += countCharacters(p[:cut])
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

// take returns the pieces since the last take, each of one stream.
func (t *termText) take() []screen.Piece {
	t.tail.trim(t.limit)
	var all pieceList
	all.add(&t.head, 0)
	all.add(&t.tail.older, t.tail.dropped)
	if len(t.tail.older.text) > 0 {
		t.tail.dropped = 0
	}
	all.add(&t.tail.newer, t.tail.dropped)
	*t = termText{limit: t.limit, last: t.last}
	return all
}

type pieceList []screen.Piece

// add appends what a generation holds; gap is what was left out before it. What goes on
// the stream of the piece before is one with that: the cut is ours.
func (l *pieceList) add(g *generation, gap int64) {
	start := 0
	for _, c := range g.cuts {
		text := string(g.text[start:c.end])
		if n := len(*l); n > 0 && (*l)[n-1].Stream == int(c.stream) && gap == 0 {
			(*l)[n-1].Text += text
		} else {
			*l = append(*l, screen.Piece{Stream: int(c.stream), Text: text, Gap: gap})
		}
		start, gap = c.end, 0
	}
}

// inTurn is the text of pieces as it was printed, the streams by turns, with an entry for
// what was left out.
func inTurn(pieces []screen.Piece) (texts []string) {
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
