package output

import (
	"fmt"
	"unicode/utf8"
)

// clip keeps the head and the tail of a text of any length: at most limit
// bytes of each, cut between characters, and counts what it dropped.
type clip struct {
	limit int
	head  []byte
	tail  tail
}

// write appends valid UTF-8.
func (c *clip) write(p []byte) {
	if room := c.limit - len(c.head); room > 0 && c.tail.size() == 0 {
		n := charactersIn(p, room)
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	c.tail.write(Stdout, p, c.limit)
}

// dropped counts the characters that are no longer there.
func (c *clip) dropped() int64 { return c.tail.dropped }

// text returns head and tail with the count of dropped characters between.
func (c *clip) text() (string, int64) {
	c.tail.trim(c.limit)
	rest := string(c.tail.older.text) + string(c.tail.newer.text)
	if c.tail.dropped == 0 {
		return string(c.head) + rest, 0
	}
	return string(c.head) + Marker(c.tail.dropped) + rest, c.tail.dropped
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

// charactersIn returns how many bytes the characters have that fit into room.
func charactersIn(p []byte, room int) int {
	n := min(room, len(p))
	for n > 0 && n < len(p) && !utf8.RuneStart(p[n]) {
		n--
	}
	return n
}
