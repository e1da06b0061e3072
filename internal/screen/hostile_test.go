package screen

import (
	"strings"
	"testing"
	"time"
)

// No text takes more time than its length, whatever it has the terminal do.
func TestTimeForHostileText(t *testing.T) {
	const n = 1 << 20
	turns := func(text ...string) (all []Piece) {
		for i := 0; len(all) < n/5; i++ {
			all = append(all, Piece{Stream: i % len(text), Text: text[i%len(text)]})
		}
		return all
	}
	for name, pieces := range map[string][]Piece{
		"one line erased often": {{Text: strings.Repeat("a", n/2) + strings.Repeat("\x1b[1K", n/8)}},
		"erased and drawn":      {{Text: strings.Repeat("a", n/2) + strings.Repeat("\ra\x1b[999999C\x1b[1K", n/32)}},
		"streams by turns":      turns("a", "\x1b[0K"),
		"bars by turns":         append([]Piece{{Text: "x" + strings.Repeat("\r\n", n/3) + "\x1b[999999A\rab"}}, turns("\x1b[A\rcd", "b")...),
		"erased by turns":       append([]Piece{{Text: "\r" + strings.Repeat("ab", n/4)}}, turns("\x1b[1K", "b")...),
		"no marks":              {{Text: strings.Repeat(markStart, n/len(markStart))}},
		"one id often":          {{Text: strings.Repeat("\x1b]5379;display;a\x07", n/36) + "\x1b]5379;update;a\x07" + strings.Repeat("b", n/2)}},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			Show(pieces)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Log(time.Since(start))
		})
	}
}
