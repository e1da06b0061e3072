package screen

import (
	"runtime"
	"strings"
	"testing"
)

// No text takes more work than its length: of twice as much text, twice the memory passes
// through, and the cells that are blanked are counted.
func TestWorkForHostileText(t *testing.T) {
	turns := func(n int, text ...string) (all []Piece) {
		for i := range n / 5 {
			all = append(all, Piece{Stream: i % len(text), Text: text[i%len(text)]})
		}
		return all
	}
	for name, hostile := range map[string]func(n int) []Piece{
		"one line erased often": func(n int) []Piece {
			return []Piece{{Text: strings.Repeat("a", n/2) + strings.Repeat("\x1b[1K", n/8)}}
		},
		"erased and drawn": func(n int) []Piece {
			return []Piece{{Text: strings.Repeat("a", n/2) + strings.Repeat("\ra\x1b[999999C\x1b[1K", n/32)}}
		},
		"streams by turns": func(n int) []Piece { return turns(n, "a", "\x1b[0K") },
		"bars by turns": func(n int) []Piece {
			return append([]Piece{{Text: "x" + strings.Repeat("\r\n", n/3) + "\x1b[999999A\rab"}}, turns(n, "\x1b[A\rcd", "b")...)
		},
		"erased by turns": func(n int) []Piece {
			return append([]Piece{{Text: "\r" + strings.Repeat("ab", n/4)}}, turns(n, "\x1b[1K", "b")...)
		},
		"no marks": func(n int) []Piece { return []Piece{{Text: strings.Repeat(markStart, n/len(markStart))}} },
		"one id often": func(n int) []Piece {
			return []Piece{{Text: strings.Repeat("\x1b]5379;display;a\x07", n/36) + "\x1b]5379;update;a\x07" + strings.Repeat("b", n/2)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 1 << 18
			once, blanked := effort(hostile(n))
			twice, more := effort(hostile(2 * n))
			if twice > 3*once+1<<20 {
				t.Errorf("%d bytes pass through memory for %d of text, %d for half of it", twice, 2*n, once)
			}
			if most := mostBlanked + 2*n; blanked > most || more > most {
				t.Errorf("%d and %d cells were blanked, at most %d wanted", blanked, more, most)
			}
		})
	}
}

// effort is how many bytes a text has allocated, and how many cells blanked.
func effort(pieces []Piece) (bytes uint64, blanked int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := canvas{work: mostBlanked}
	for _, p := range resolve(pieces) {
		c.draw(p)
	}
	c.shown()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, mostBlanked - c.work
}
