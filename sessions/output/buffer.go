package output

import (
	"encoding/binary"
	"math/bits"
)

// tail keeps the end of a text of any length: at least limit bytes of it, at
// most twice as many, in two generations. When the newer one is full the older
// one is dropped as a whole, so that nothing is ever moved.
type tail struct {
	older, newer generation
	dropped      int64 // characters
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

func (t *tail) size() int { return len(t.older.text) + len(t.newer.text) }

// write appends valid UTF-8.
func (t *tail) write(stream Stream, p []byte, limit int) {
	if excess := len(p) - 2*limit; excess > 0 { // skip what would be dropped at once
		n := runeStart(p, excess)
		t.turn()
		t.turn()
		t.dropped += countCharacters(p[:n])
		p = p[n:]
	}
	for len(p) > 0 {
		n := charactersIn(p, limit-len(t.newer.text))
		if n == 0 {
			t.turn()
			continue
		}
		t.newer.write(stream, p[:n])
		p = p[n:]
	}
}

// turn drops the older generation and begins a new one.
func (t *tail) turn() {
	t.dropped += countCharacters(t.older.text)
	t.older, t.newer = t.newer, generation{t.older.text[:0], t.older.cuts[:0]}
}

// trim leaves limit bytes of a text that has lost something already.
func (t *tail) trim(limit int) {
	if excess := t.size() - limit; t.dropped > 0 && excess > 0 {
		n := runeStart(t.older.text, min(excess, len(t.older.text)))
		t.dropped += countCharacters(t.older.text[:n])
		t.older.forget(n)
	}
}

func (g *generation) write(stream Stream, p []byte) {
	g.text = append(g.text, p...)
	if n := len(g.cuts); n > 0 && g.cuts[n-1].stream == stream {
		g.cuts[n-1].end = len(g.text)
		return
	}
	g.cuts = append(g.cuts, cut{stream, len(g.text)})
}

// forget drops the first n bytes.
func (g *generation) forget(n int) {
	var rest generation
	start := 0
	for _, c := range g.cuts {
		if c.end > n {
			rest.write(c.stream, g.text[max(start, n):c.end])
		}
		start = c.end
	}
	*g = rest
}

// countCharacters counts those of valid UTF-8, eight bytes at a time: all bytes
// but those that continue a character (10xxxxxx).
func countCharacters(p []byte) int64 {
	const ones = 0x0101010101010101
	count := len(p)
	for ; len(p) >= 8; p = p[8:] {
		word := binary.NativeEndian.Uint64(p)
		count -= bits.OnesCount64(word >> 7 &^ (word >> 6) & ones)
	}
	for _, b := range p {
		if b&0xC0 == 0x80 {
			count--
		}
	}
	return int64(count)
}
