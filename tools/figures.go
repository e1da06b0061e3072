package tools

import (
	"fmt"
	"path/filepath"
	"strings"

	"understudy/sessions"
)

// mostExhibits is how many images an answer has: each costs a model as much as a page
// of text.
const mostExhibits = 10

// tooMany is why the others are not shown.
var tooMany = fmt.Sprintf("an answer has %d images", mostExhibits)

// exhibits are what an answer can show as images: the figures, then those artifacts
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

// figureLines is a line for each figure that is shown, and one for all that are too
// many. The folder is told once.
func (v view) figureLines() string {
	var lines, more []string
	folder := ""
	for i, figure := range v.Figures {
		place := figure.Path
		if filepath.Dir(place) == folder {
			place = filepath.Base(place)
		}
		folder = filepath.Dir(figure.Path)
		if v.pictures != nil && v.pictures[i].missing == tooMany {
			more = append(more, place)
			continue
		}
		lines = append(lines, v.figureLine(i, figure, place))
	}
	if len(more) > 0 {
		lines = append(lines, fmt.Sprintf("[figures %d–%d] not shown, %s: %s", len(v.Figures)-len(more)+1, len(v.Figures), tooMany, someNames(more, 0)))
	}
	return strings.Join(lines, "\n")
}

func (v view) figureLine(i int, figure sessions.Figure, place string) string {
	line := fmt.Sprintf("[figure %d] %s%d×%d %s", i+1, titlePrefix(figure), figure.Width, figure.Height, place)
	if len(figure.Names) > 0 {
		line += ", saved as " + strings.Join(figure.Names, ", ")
	}
	if v.pictures != nil && v.pictures[i].missing != "" {
		line += "; not shown: " + v.pictures[i].missing
	}
	if v.partial(i) {
		line += "; in full: " + figure.URI
	}
	return line
}

func titlePrefix(figure sessions.Figure) string {
	if title := plainTitle(figure); title != "" {
		return title + " "
	}
	return ""
}

// plainTitle is a figure's title on one line.
func plainTitle(figure sessions.Figure) string {
	return clip(strings.Join(strings.Fields(figure.Title), " "), 120)
}

func figureTitle(i int, figure sessions.Figure) string {
	if title := plainTitle(figure); title != "" {
		return title
	}
	return fmt.Sprintf("Figure %d", i+1)
}
