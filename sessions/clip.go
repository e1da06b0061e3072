package sessions

import (
	"fmt"
	"unicode/utf8"
)

// clip keeps the head and the tail of a text of any length: at most limit
// bytes of each, cut between characters, and counts what it dropped.
type clip struct {
	limit      int
	head, tail []byte
	dropped    int64 // characters
}

// write appends valid UTF-8.
func (c *clip) write(p []byte) {
	if room := c.limit - len(c.head); room > 0 && len(c.tail) == 0 {
		n := min(room, len(p))
		for n > 0 && n < len(p) && !utf8.RuneStart(p[n]) {
			n--
		}
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	if excess := len(p) - 2*c.limit; excess > 0 { // skip what would be dropped at once
		c.drop(len(c.tail))
		n := runeStart(p, excess)
		c.dropped += int64(utf8.RuneCount(p[:n]))
		p = p[n:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*c.limit { // trimming in steps of limit keeps the copying linear
		c.drop(runeStart(c.tail, len(c.tail)-c.limit))
	}
}

func (c *clip) drop(n int) {
	c.dropped += int64(utf8.RuneCount(c.tail[:n]))
	c.tail = append(c.tail[:0], c.tail[n:]...)
}

// text returns head and tail with the count of dropped characters between.
func (c *clip) text() (string, int64) {
	if over := len(c.tail) - c.limit; over > 0 && c.dropped > 0 {
		c.drop(runeStart(c.tail, over))
	}
	if c.dropped == 0 {
		return string(c.head) + string(c.tail), 0
	}
	return string(c.head) + Marker(c.dropped) + string(c.tail), c.dropped
}

// Marker stands where n characters were left out of a text.
func Marker(n int64) string {
	return fmt.Sprintf("\n[%d characters truncated]\n", n)
}

// runeStart returns the first index at or after n where a character starts.
func runeStart(p []byte, n int) int {
	for n < len(p) && !utf8.RuneStart(p[n]) {
		n++
	}
	return n
}
