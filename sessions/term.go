package sessions

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

// take returns the pieces since the last take, each of one stream.
func (t *termText) take() []string {
	t.tail.trim(t.limit)
	texts := make(segments, 0, len(t.head.cuts)+len(t.tail.older.cuts)+len(t.tail.newer.cuts)+1)
	stream := texts.add(&t.head, noStream)
	if t.tail.dropped > 0 {
		texts = append(texts, Marker(t.tail.dropped))
		stream = noStream
	}
	stream = texts.add(&t.tail.older, stream)
	texts.add(&t.tail.newer, stream)
	*t = termText{limit: t.limit, last: t.last}
	return texts
}

// noStream is the stream of no text.
const noStream Stream = -1

type segments []string

// add appends what a generation holds and returns the stream of its end. What
// goes on the stream of the piece before is one with that: the cut is ours.
func (s *segments) add(g *generation, stream Stream) Stream {
	start := 0
	for _, c := range g.cuts {
		text := string(g.text[start:c.end])
		if c.stream == stream {
			(*s)[len(*s)-1] += text
		} else {
			*s = append(*s, text)
		}
		start, stream = c.end, c.stream
	}
	return stream
}
