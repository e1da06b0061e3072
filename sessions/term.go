package sessions

import "unicode/utf8"

// termText is both streams in order of arrival, as segments, bounded like a
// clip: head and tail of limit bytes each.
type termText struct {
	limit      int
	head, tail []segment
	headSize   int
	tailSize   int
	dropped    int64
	last       []byte // the end of the text, for lastLine, kept across takes
}

// segment is a piece of text that came from one stream without a break.
type segment struct {
	stream Stream
	text   []byte
}

// lastSize is how many bytes of the end are kept for the progress line.
const lastSize = 1 << 10

func (t *termText) write(stream Stream, p []byte) {
	t.remember(p)
	if room := t.limit - t.headSize; room > 0 && len(t.tail) == 0 {
		n := min(room, len(p))
		for n > 0 && n < len(p) && !utf8.RuneStart(p[n]) {
			n--
		}
		t.head = appendSegment(t.head, stream, p[:n])
		t.headSize += n
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	t.tail = appendSegment(t.tail, stream, p)
	t.tailSize += len(p)
	if t.tailSize > 2*t.limit {
		t.trim()
	}
}

func appendSegment(segments []segment, stream Stream, p []byte) []segment {
	if n := len(segments); n > 0 && segments[n-1].stream == stream {
		segments[n-1].text = append(segments[n-1].text, p...)
		return segments
	}
	if len(p) == 0 {
		return segments
	}
	return append(segments, segment{stream, append([]byte(nil), p...)})
}

// trim drops the oldest of the tail until limit bytes are left.
func (t *termText) trim() {
	excess, whole := t.tailSize-t.limit, 0
	for whole < len(t.tail) && len(t.tail[whole].text) <= excess {
		excess -= len(t.tail[whole].text)
		t.forget(t.tail[whole].text)
		whole++
	}
	t.tail = append([]segment(nil), t.tail[whole:]...)
	if len(t.tail) > 0 && excess > 0 {
		first := &t.tail[0]
		n := runeStart(first.text, excess)
		t.forget(first.text[:n])
		first.text = append([]byte(nil), first.text[n:]...)
	}
}

func (t *termText) forget(p []byte) {
	t.dropped += int64(utf8.RuneCount(p))
	t.tailSize -= len(p)
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

// take returns the segments since the last take.
func (t *termText) take() []string {
	if t.dropped > 0 && t.tailSize > t.limit {
		t.trim()
	}
	texts := make([]string, 0, len(t.head)+len(t.tail)+1)
	for _, s := range t.head {
		texts = append(texts, string(s.text))
	}
	if t.dropped > 0 {
		texts = append(texts, Marker(t.dropped))
	}
	joined := t.dropped == 0 && len(t.head) > 0 && len(t.tail) > 0 && t.head[len(t.head)-1].stream == t.tail[0].stream
	for i, s := range t.tail {
		if i == 0 && joined { // the cut between head and tail is ours, not the text's
			texts[len(texts)-1] += string(s.text)
			continue
		}
		texts = append(texts, string(s.text))
	}
	*t = termText{limit: t.limit, last: t.last}
	return texts
}
