package screen

import (
	"strconv"
	"strings"
)

// grid is the cells that a terminal of any size would have.
type grid struct {
	rows     []*row
	row, col int
	apart    bool // the cursor went past the end of its row: a blank belongs there
	returned bool // to the beginning of a row
	work     *int // cells that may yet be blanked, in all grids of a canvas
}

// mostBlanked is how many cells a text may have blanked: as many as a program's progress
// needs, and none takes the server's time by erasing one long line again and again.
const mostBlanked = 1 << 22

type row struct {
	cells   []rune
	touched bool // by more than text that follows text
}

// handOver gives the progress bars up that the cursor is on, to go on below what another
// stream has printed; nil if there are none.
func (g *grid) handOver() *grid {
	if r := g.rows[g.row]; !r.touched || len(r.cells) == 0 {
		return nil
	}
	bars := &grid{rows: g.rows[g.row:], col: g.col, work: g.work}
	g.rows = append(g.rows[:g.row:g.row], &row{})
	return bars
}

func (g *grid) draw(text string) {
	for len(text) > 0 {
		if text[0] == '\x1b' {
			text = g.escape(text)
			continue
		}
		n := strings.IndexByte(text, '\x1b')
		if n < 0 {
			n = len(text)
		}
		for _, c := range text[:n] {
			g.put(c)
		}
		text = text[n:]
	}
}

func (g *grid) put(c rune) {
	switch {
	case c == '\n':
		g.returned = false
		g.col = 0
		g.down(1, true)
	case c == '\r':
		g.col, g.returned = 0, true
	case c == '\b':
		g.col = max(0, g.col-1)
	case isControl(c):
	default:
		g.print(c)
	}
}

func (g *grid) print(c rune) {
	r := g.rows[g.row]
	if n := len(r.cells); g.apart && g.col == n && n > 0 && r.cells[n-1] != ' ' {
		r.cells = append(r.cells, ' ')
		g.col++
	}
	if g.col < len(r.cells) {
		r.cells[g.col], r.touched = c, true
	} else {
		r.cells = append(r.cells, c)
	}
	r.touched = r.touched || g.returned
	g.col++
	g.apart, g.returned = false, false
}

// down moves the cursor down, past the last row if grow says so. The column stays where
// there is text.
func (g *grid) down(n int, grow bool) {
	g.row += min(n, len(g.rows)-g.row)
	if g.row == len(g.rows) {
		if !grow {
			g.row--
		} else {
			g.rows = append(g.rows, &row{})
		}
	}
	g.to(g.row, g.col)
}

// to moves the cursor, at most to the end of a row: no number makes a line long.
func (g *grid) to(line, column int) {
	g.row = max(0, min(line, len(g.rows)-1))
	g.col = max(0, min(column, len(g.rows[g.row].cells)))
	g.apart = false
}

// along moves the cursor in its row. Columns that are aligned that way stay apart.
func (g *grid) along(column int) {
	g.to(g.row, column)
	g.apart = column > g.col
}

// escape obeys the sequence that text begins with and returns what follows it.
func (g *grid) escape(text string) string {
	if len(text) < 2 {
		return ""
	}
	switch text[1] {
	case '[':
		return g.control(text[2:])
	case ']', 'P', 'X', '^', '_':
		return pastString(text[2:])
	}
	n := 1
	for n < len(text) && text[n] >= ' ' && text[n] < '0' { // as in ESC ( B
		n++
	}
	if n < len(text) && text[n] >= '0' && text[n] < 0x7f {
		n++
	}
	return text[n:]
}

// pastString returns what follows a string for the terminal: a title, a link's address. One
// that has no end ends with its line.
func pastString(text string) string {
	n := strings.IndexAny(text, "\x07\x1b\n")
	switch {
	case n < 0:
		return ""
	case text[n] == '\x07':
		return text[n+1:]
	case strings.HasPrefix(text[n:], "\x1b\\"):
		return text[n+2:]
	}
	return text[n:]
}

// control obeys a control sequence, of which text is what follows its introducer.
func (g *grid) control(text string) string {
	n := 0
	for n < len(text) && text[n] >= ' ' && text[n] < '@' {
		n++
	}
	if n == len(text) || text[n] < '@' || text[n] > '~' {
		return text[n:]
	}
	first, second, _ := strings.Cut(text[:n], ";")
	g.obey(text[n], first, second)
	return text[n+1:]
}

func (g *grid) obey(command byte, first, second string) {
	n := number(first)
	switch command {
	case 'A':
		g.to(g.row-n, g.col)
	case 'B':
		g.down(n, false)
	case 'C':
		g.along(g.col + n)
	case 'D':
		g.along(g.col - n)
	case 'E':
		g.col = 0
		g.down(n, false)
	case 'F':
		g.to(g.row-n, 0)
	case 'G':
		g.along(n - 1)
	case 'H', 'f':
		g.to(n-1, number(second)-1)
	case 'K':
		g.rows[g.row].erase(g.col, first, g.work)
	case 'J':
		g.erase(first)
	}
}

// number is what a sequence says, 1 where it says nothing.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<20 {
		return 1
	}
	return n
}

func (r *row) erase(col int, part string, work *int) {
	r.touched = true
	switch part {
	case "", "0":
		r.cells = r.cells[:min(col, len(r.cells))]
	case "1":
		n := min(col+1, len(r.cells))
		if *work < n {
			return
		}
		*work -= n
		for i := range n {
			r.cells[i] = ' '
		}
	case "2":
		r.cells = nil
	}
}

// erase takes the rows below the cursor away, or all.
func (g *grid) erase(part string) {
	switch part {
	case "", "0":
		g.rows[g.row].erase(g.col, "", g.work)
		g.rows = g.rows[:g.row+1]
	case "2":
		g.rows, g.row, g.col = []*row{{touched: true}}, 0, 0 // as clear does
	}
}

// text returns the rows. One that was erased is not there.
func (g *grid) text() string {
	var b strings.Builder
	for i, r := range g.rows {
		line := string(r.cells)
		if r.touched {
			if line = strings.TrimRight(line, " "); line == "" {
				continue
			}
		}
		b.WriteString(line)
		if i < len(g.rows)-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
