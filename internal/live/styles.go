package live

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

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

// fit cuts a line to a width in columns, and says so with an ellipsis.
func fit(line string, width int) string { return ansi.Truncate(line, max(width, 0), "…") }

// fill makes a line exactly as wide.
func fill(line string, width int) string {
	line = fit(line, width)
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// bar draws how much of a whole is done, in as many columns.
func (s styles) bar(done, whole float64, width int) string {
	if whole <= 0 || width < 1 {
		return ""
	}
	full := min(width, max(0, int(done/whole*float64(width))))
	return s.busy.Render(strings.Repeat("█", full)) + s.quiet.Render(strings.Repeat("░", width-full))
}
