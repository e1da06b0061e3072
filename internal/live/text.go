package live

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
	terminal "understudy/internal/screen"
)

// mostMarks bounds the combining marks on one character: without a bound a short
// line could hold megabytes.
const mostMarks = 8

// clean makes text that a model wrote safe for a terminal: no escapes, no control
// characters but line ends, none that turn the direction of writing, none that join
// or vary emoji (terminals do not agree on how wide these become, and the columns
// right of them would shift).
func clean(text string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\u2028', r == '\u2029', r >= '\ufe00' && r <= '\ufe0f', !unicode.IsGraphic(r):
			return -1
		case !unicode.Is(unicode.M, r):
			marks = 0
			return r
		}
		if marks++; marks > mostMarks {
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\t", "    "))
}

// printed is what a terminal would have shown in the end of text that a program
// printed, clean.
func printed(text string) string { return clean(terminal.Text(text)) }

// firstLine returns the first line of text that says something, clean and without
// sequences.
func firstLine(text string) string {
	for line := range strings.Lines(clean(ansi.Strip(text))) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// spoken are the lines of a clean text that aren't blank.
func spoken(text string) []string {
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, " \n"); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// styles are the few ways in which text differs. The zero value is plain text.
type styles struct {
	title, quiet, good, bad, busy, chosen lipgloss.Style
}

// newStyles returns those for a dark or a light background.
func newStyles(dark bool) styles {
	pick := lipgloss.LightDark(dark)
	colour := func(light, dark string) lipgloss.Style {
		return lipgloss.NewStyle().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	return styles{
		title:  lipgloss.NewStyle().Bold(true),
		quiet:  colour("#6c6c6c", "#8a8a8a"),
		good:   colour("#1a7f37", "#7ee787").Bold(true),
		bad:    colour("#b3261e", "#ff8a80"),
		busy:   colour("#0b5cad", "#79c0ff"),
		chosen: lipgloss.NewStyle().Reverse(true),
	}
}

func (s styles) outcome(e *journal.Execution, best bool) lipgloss.Style {
	switch {
	case runs(e):
		return s.busy
	case failed(e):
		return s.bad
	case best:
		return s.good
	}
	return lipgloss.Style{}
}

// fit cuts a line to a width in columns, and says so with an ellipsis.
func fit(line string, width int) string { return ansi.Truncate(line, max(width, 0), "…") }

// fill makes a line exactly as wide.
func fill(line string, width int) string {
	line = fit(line, width)
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// fitLeft cuts a path at its beginning: its end says more.
func fitLeft(path string, width int) string {
	if extra := ansi.StringWidth(path) - width; extra > 0 {
		return ansi.TruncateLeft(path, extra+1, "…")
	}
	return path
}

// pad makes it exactly so many lines.
func pad(lines []string, height int) []string {
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:max(0, height)]
}

// bar draws how much of a whole is done, in as many columns.
func (s styles) bar(done, whole float64, width int) string {
	if whole <= 0 || width < 1 {
		return ""
	}
	full := min(width, max(0, int(done/whole*float64(width))))
	return s.busy.Render(strings.Repeat("█", full)) + s.quiet.Render(strings.Repeat("░", width-full))
}
