package answer

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

// leastPreview is how many characters a preview can hardly do with less than.
const leastPreview = 60

// exhibits are what an answer shows as images: the figures, then those artifacts
// that can be seen, as figures.
func exhibits(r *sessions.Result) []sessions.Figure {
	shown := r.Figures[:len(r.Figures):len(r.Figures)]
	for _, a := range r.Artifacts {
		if a.Image != nil {
			shown = append(shown, sessions.Figure{Path: a.Path, URI: a.URI, MIMEType: a.MIMEType, Title: a.Name, Preview: a.Image})
		}
	}
	return shown
}

// shown tells of the figures and the artifacts, in a quarter of the budget.
func (v view) shown() string {
	room := v.budget / 4
	figures, _ := Cut(v.figureLines(), room*2/3, 0)
	return Sections(figures, v.artifactLines(room-utf8.RuneCountInString(figures)))
}

// artifactLines names the artifacts and shows what is in them, as far as there is room. Where
// not even the lines that name them fit, the last are counted.
func (v view) artifactLines(room int) string {
	lines := v.artifactHeads()
	needs := make([]int, len(lines)) // bytes, no fewer than characters
	for i, line := range lines {
		others := fmt.Sprintf("[artifact] %d more are in the record: %s", len(lines)-i, uri.OfExecution(v.InterpreterID, v.Execution))
		if room -= len(line) + 1; room < 0 || room < len(others) && i < len(lines)-1 {
			return Sections(append(lines[:i:i], others)...)
		}
		needs[i] = 2 * len(v.Artifacts[i].Preview+" ")
	}
	for i, most := range share(room, needs...) {
		lines[i] = Sections(lines[i], beginning(v.Artifacts[i].Preview, most))
	}
	return Sections(lines...)
}

// artifactHeads is a line for each artifact.
func (v view) artifactHeads() []string {
	heads := make([]string, len(v.Artifacts))
	seen := len(v.Figures) // how many of the pictures have been passed
	for i, a := range v.Artifacts {
		heads[i] = fmt.Sprintf("[artifact] %s (%s, %s): %s", Clip(a.Name, longestName), a.Kind, humanize.Bytes(uint64(max(0, a.Size))), cmp.Or(a.URI, a.Path))
		if a.Image == nil {
			continue
		}
		if v.pictures != nil && v.pictures[seen].missing != "" {
			heads[i] += "; not shown: " + v.pictures[seen].missing
		}
		seen++
	}
	return heads
}

// beginning is what fits of a preview, indented, in whole lines where there are some: tables
// and texts begin with what matters.
func beginning(preview string, most int) string {
	if preview == "" {
		return ""
	}
	preview = "  " + strings.ReplaceAll(strings.TrimRight(preview, "\n"), "\n", "\n  ")
	short := First(preview, most)
	switch {
	case len(short) == len(preview):
		return preview
	case most < leastPreview:
		return ""
	}
	if i := strings.LastIndexByte(short, '\n'); i > 0 {
		return short[:i] + "\n  …"
	}
	return short + "…"
}
