package answer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

const (
	// leastPreview is how many characters a preview can hardly do with less than.
	leastPreview = 60
)

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
	figures, heads := v.figureLines(), v.artifactHeads()
	needs := len(heads) // bytes, so no less than characters
	for i, head := range heads {
		needs += len(head) + len(v.Artifacts[i].Preview)
	}
	shares := share(v.budget/4, utf8.RuneCountInString(figures), 2*needs)
	figures, _ = Cut(figures, shares[0], 0)
	return Sections(figures, v.artifactLines(heads, shares[1]))
}

// artifactLines shows what is in the artifacts as far as there is room beside the
// lines that name them. Where not even those fit, the last are counted.
func (v view) artifactLines(heads []string, room int) string {
	fit, left := fitting(heads, room)
	if fit < len(heads) {
		const more = "[artifact] %d more are in the record: %s"
		record := uri.OfExecution(v.InterpreterID, v.Execution)
		fit, _ = fitting(heads, room-len(more)-len(record))
		return Sections(append(heads[:fit:fit], fmt.Sprintf(more, len(heads)-fit, record))...)
	}
	for i, preview := range v.previews(left) {
		heads[i] = Sections(heads[i], preview)
	}
	return Sections(heads...)
}

// fitting is how many lines fit into room characters, and how many are left then.
func fitting(lines []string, room int) (fit, left int) {
	for _, line := range lines {
		size := utf8.RuneCountInString(line) + 1
		if size > room {
			break
		}
		fit++
		room -= size
	}
	return fit, room
}

// artifactHeads is a line for each artifact.
func (v view) artifactHeads() []string {
	heads := make([]string, len(v.Artifacts))
	seen := len(v.Figures) // how many of the pictures have been passed
	for i, a := range v.Artifacts {
		heads[i] = artifactHead(a)
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

func artifactHead(a sessions.Artifact) string {
	where := a.URI
	if where == "" {
		where = a.Path
	}
	return fmt.Sprintf("[artifact] %s (%s, %s): %s", Clip(a.Name, longestName), a.Kind, humanize.Bytes(uint64(max(0, a.Size))), where)
}

// previews are those of the artifacts, indented, in room characters; the first
// lines of each, because tables and texts begin with what matters.
func (v view) previews(room int) []string {
	previews, needs := make([]string, len(v.Artifacts)), make([]int, len(v.Artifacts))
	for i, a := range v.Artifacts {
		if a.Preview != "" {
			previews[i] = "  " + strings.ReplaceAll(strings.TrimRight(a.Preview, "\n"), "\n", "\n  ")
			needs[i] = utf8.RuneCountInString(previews[i])
		}
	}
	for i, most := range share(room, needs...) {
		if needs[i] > most {
			previews[i] = beginning(previews[i], most)
		}
	}
	return previews
}

// beginning is what fits of a preview, in whole lines where there are some.
func beginning(preview string, most int) string {
	if most < leastPreview {
		return ""
	}
	short := First(preview, most-len("\n  …"))
	if i := strings.LastIndexByte(short, '\n'); i > 0 {
		return short[:i] + "\n  …"
	}
	return short + "…"
}

// artifactLinks points to the artifacts of an answer.
func (v view) artifactLinks() (links []linked) {
	for _, a := range v.Artifacts {
		if a.URI != "" {
			links = append(links, linked{uri: a.URI, name: Clip(a.Name, 120), mimeType: a.MIMEType, size: &a.Size})
		}
	}
	return links
}
